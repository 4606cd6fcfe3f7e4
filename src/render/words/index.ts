import type { Field, Words } from '../../sink/index.ts'
import { changesOf, inStatus, isKnown, isNoise, wantedOf } from './changes.ts'
import { describe, eventsAbout, targetOf } from './command.ts'
import { wordsOfDigest } from './digest.ts'
import { wordsOfEvent } from './events.ts'
import { finish } from './finish.ts'
import { generic } from './generic.ts'
import { agoMs, field, isEnding, ownerOf, writerOf } from './meta.ts'
import { at, text, texts } from './read.ts'
import { wordsOfResolved } from './resolved.ts'
import { tellerOf } from './tellers.ts'
import type { Draft, Teller, Told } from './told.ts'
import { listed } from './wording.ts'

export type { Told } from './told.ts'

/** Tells what happened, in plain text, for any kind of object. Pure; never throws, whatever the object holds. */
export function wordsOf({ event, object, rule = '', notice }: Told): Words {
  const told = { event, object: object ?? {} }
  const words = wordsOfChange(told)
  if (notice?.kind === 'digest') return wordsOfDigest(told, notice, words)
  return notice?.kind === 'resolved' ? wordsOfResolved(told, notice, words, rule) : words
}

function wordsOfChange(told: Told): Words {
  const { event } = told
  if (event.event) return wordsOfEvent(told, event.event)
  const teller = tellerOf(event)
  const draft = draftOf(told, teller)
  const target = targetOf(told)
  const command =
    draft.command ??
    (event.type === 'DELETED' ? eventsAbout(target) : teller.command?.(told) || describe(target))
  const fields = [...(draft.fields ?? []), ...(teller.fields?.(told) ?? []), ...common(told)]
  const changes = changesOf(told)
  return finish(target, { ...draft, fields: important(fields) }, teller.shown?.(changes) ?? changes, command)
}

function draftOf(told: Told, teller: Teller): Draft {
  if (told.event.type === 'DELETED') return deleted(told, teller)
  if (told.event.type === 'ADDED') return created(told, teller)
  if (isEnding(told)) return teller.ending?.(told) ?? ending(told)
  return changed(told, teller)
}

/** What ends with it is resolved. */
function deleted(told: Told, teller: Teller): Draft {
  const trouble = teller.trouble?.(told)
  const last = trouble?.says.replace(/^(?: is|:)? /, '')
  return {
    severity: trouble ? 'resolved' : 'info',
    says: ' was deleted',
    text: last ? `Before that: ${last}.` : '',
  }
}

function created(told: Told, teller: Teller): Draft {
  const trouble = teller.trouble?.(told)
  if (trouble) return trouble
  const since = text(told.object, 'metadata', 'creationTimestamp')
  const earlier = (agoMs(told, since) ?? 0) > 60_000
  const fields = earlier ? [field('Created', since)] : []
  return { severity: 'info', says: ' was created', text: teller.created?.(told) ?? '', fields }
}

function ending({ object }: Told): Draft {
  const finalizers = texts(object, 'metadata', 'finalizers')
  const text = finalizers.length > 0 ? `It waits for ${listed(finalizers, 3)}.` : ''
  return { severity: 'info', says: ' is being deleted', text }
}

function changed(told: Told, teller: Teller): Draft {
  const wanted = wantedOf(told)
  const statusChanged = !isKnown(told) || changesOf(told).some((it) => inStatus(it) && !isNoise(it))
  return (
    (statusChanged ? teller.trouble?.(told) : undefined) ??
    (wanted.length > 0 ? (teller.wanted?.(told, wanted) ?? generic.wanted?.(told, wanted)) : undefined) ??
    teller.state?.(told) ??
    generic.state?.(told) ?? { severity: 'info', says: ' changed' }
  )
}

function common(told: Told) {
  return [
    field('Owner', ownerOf(told)),
    field('By', isWritten(told) ? writerOf(told) : ''),
    field('Noticed', told.event.synthesized ? 'by comparison after a gap' : ''),
  ]
}

/** Did somebody want something of it? A status is written by whoever looks after it. */
function isWritten(told: Told): boolean {
  if (told.event.type !== 'MODIFIED') return told.event.type === 'ADDED'
  return isKnown(told) ? wantedOf(told).length > 0 : at(told.object, 'status') === undefined
}

/** What everybody wants to know stands before what one kind has; `Noticed` is not pushed out by the rest. */
function important(all: readonly Field[]): Field[] {
  const fields = all.filter((it) => it.value !== '')
  const first = ['Owner', 'Reason'].flatMap((title) => fields.find((it) => it.title === title) ?? [])
  const noticed = fields.filter((it) => it.title === 'Noticed')
  const rest = fields.filter((it) => !first.includes(it) && !noticed.includes(it))
  return [...first, ...rest].toSpliced(7, 0, ...noticed)
}
