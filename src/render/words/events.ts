import type { KubeEvent } from '../../event.ts'
import type { Field, Severity, Words } from '../../sink/index.ts'
import { describe, isBuiltIn, kubectl, previousLogs, quoted, type Target, targetOf } from './command.ts'
import { finish } from './finish.ts'
import { agoMs, field } from './meta.ts'
import { number, text, timeMs } from './read.ts'
import type { Meaning, Said } from './reasons.ts'
import { CLUSTER_REASONS } from './reasons-cluster.ts'
import { CONTROLLER_REASONS } from './reasons-controllers.ts'
import { isAboutPull, POD_REASONS } from './reasons-pods.ts'
import type { Draft, Told } from './told.ts'
import { clause, counted, duration } from './wording.ts'

const REASONS = new Map<string, Meaning>([
  ...CONTROLLER_REASONS,
  ...CLUSTER_REASONS,
  ...POD_REASONS.map(([reason, meaning]) => [`Pod/${reason}`, meaning] as const),
])

/** Tells what an Event says of the object that it regards. */
export function wordsOfEvent(told: Told, event: KubeEvent): Words {
  const said = read(event)
  const target = regarded(told, said)
  const { type } = told.event
  const draft = type === 'DELETED' ? expired(said, describe(target)) : meant(said)
  const fields = [...(draft.fields ?? []), ...fieldsOf(told, said)]
  const command = draft.command ?? commandFor(said, target)
  return finish(target, { ...draft, quote: said.message, fields }, [], command)
}

/** How bad it is what an Event says. */
export function severityOfEvent(event: KubeEvent): Severity {
  return meant(read(event)).severity
}

/** An Event whose parts are what they should be: whoever may write Events may write anything. */
function read(event: KubeEvent): Said {
  const part = (name: string) => text(event, name)
  const count = number(event, 'count') ?? 1
  const ref = (name: string) => text(event, 'regarding', name)
  const [, container = ''] = /containers?\{([^}]{1,253})\}/i.exec(ref('fieldPath')) ?? []
  return {
    type: part('type'),
    reason: part('reason'),
    message: part('message'),
    count: count >= 1 ? Math.floor(count) : 1,
    regarding: {
      apiVersion: ref('apiVersion'),
      kind: ref('kind'),
      namespace: ref('namespace'),
      name: ref('name'),
    },
    firstSeen: part('firstSeen'),
    lastSeen: part('lastSeen'),
    reportingComponent: part('reportingComponent'),
    kind: ref('kind'),
    container,
  }
}

function regarded(told: Told, { regarding }: Said): Target {
  const { apiVersion = '', kind = '', namespace, name = '' } = regarding
  return kind === '' || name === '' ? targetOf(told) : { apiVersion, kind, namespace, name }
}

function expired({ reason, count }: Said, command: string): Draft {
  const times = count > 1 ? ` (${counted(count, 'time')})` : ''
  return { severity: 'info', says: `: its Event ${clause(reason, 60)}${times} is no longer kept`, command }
}

function meant(said: Said): Draft {
  const ofType: Severity = said.type === 'Warning' ? 'warning' : 'info'
  const meaning = meaningOf(said)
  const [severity, says] = Array.isArray(meaning)
    ? (meaning as [Severity, Meaning])
    : [ofType, meaning as Meaning]
  const made = typeof says === 'function' ? says(said) : (says as string)
  const draft: Draft = { severity, says: '', ...(typeof made === 'string' ? { says: made } : made) }
  return { ...draft, says: draft.says + (said.reason === 'BackOff' ? '' : times(said)) }
}

/** Other people's controllers use the same reasons for other things. */
function meaningOf({ regarding, kind, reason }: Said): Meaning {
  if (!isBuiltIn(regarding.apiVersion ?? '')) return unknown
  return REASONS.get(`${kind}/${reason}`) ?? REASONS.get(reason) ?? unknown
}

/** A reason of a controller that nobody here knows: its own words. */
function unknown({ reason, message }: Said): string {
  const what = clause(message, 120)
  return `: ${[clause(reason, 60), what].filter((it) => it !== '').join(', ') || 'an Event without a reason'}`
}

/** ` (12 times in 5 min)`. */
function times({ count, firstSeen, lastSeen }: Said): string {
  if (count < 2) return ''
  const [from, to] = [timeMs(firstSeen), timeMs(lastSeen)]
  const span =
    from !== undefined && to !== undefined && to - from >= 1_000 ? ` in ${duration(to - from)}` : ''
  return ` (${counted(count, 'time')}${span})`
}

function fieldsOf(told: Told, said: Said): Field[] {
  const { event, object } = told
  const { reason, count, firstSeen = '', lastSeen = '', container, kind, reportingComponent = '' } = said
  const host = text(object, 'source', 'host') || text(object, 'deprecatedSource', 'host')
  const scheduled = reason === 'Scheduled' ? (/ to (\S+)$/.exec(said.message)?.[1] ?? '') : ''
  return [
    field('Reason', reason),
    field('Count', count > 1 ? count : ''),
    field('Since', count > 1 ? firstSeen : ''),
    field('Last seen', (agoMs(told, lastSeen) ?? 0) > 60_000 ? lastSeen : ''),
    field('Container', container),
    field('Node', kind === 'Node' ? '' : host || scheduled),
    field('From', reportingComponent),
    field('Noticed', event.synthesized ? 'by comparison after a gap' : ''),
  ]
}

function commandFor(said: Said, target: Target): string {
  const { reason, kind, message, container } = said
  const crashed =
    (reason === 'BackOff' && !isAboutPull(message)) ||
    (reason === 'Killing' && /restarted/.test(message)) ||
    /^OOMKill(?:ed|ing)$/.test(reason)
  if (kind === 'Pod' && crashed) return previousLogs(target, container)
  if (kind === 'Job' && /^(?:BackoffLimitExceeded|DeadlineExceeded|PodFailurePolicy)$/.test(reason)) {
    return kubectl(target, 'logs', quoted(`job/${target.name}`), '--all-containers')
  }
  return describe(target)
}
