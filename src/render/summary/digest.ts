import type { Digest, DigestItem } from '../../model/delivery.ts'
import type { Field, Severity, Summary } from '../../sink/index.ts'
import { clock } from '../../sink/message.ts'
import { objectTitle } from '../../text/object-title.ts'
import { counted } from '../../text/quantities.ts'
import { severityOfEvent } from './events.ts'
import {
  clause,
  describe,
  duration,
  finish,
  kubectl,
  listed,
  oneLine,
  quoted,
  resourceOf,
  type Target,
} from './phrasing.ts'
import { field, type SummaryInput, text, timeMs } from './summarizer.ts'

/** Summarizes several events: counts, and a line for each object. `first` is the summary of the first event. */
export function summarizeDigest(input: SummaryInput, digest: Digest, first: Summary): Summary {
  const members = digest.items.map((item) => memberOf(item, input))
  const objects = objectsOf(members)
  const target = common(members)
  const where = byValue(digest, 'namespace') || (target.namespace ?? '')
  const reason = byValue(digest, 'reason') || theOnly(members.map((it) => it.reason))
  const title = `${digest.count} × ${whatOf(members, reason)}${where && ` in ${where}`}${extent(digest, objects)}`
  return finish(
    { ...target, ...(where !== '' && { namespace: where }) },
    {
      severity: worst(input, digest.items, first.severity),
      phrase: '',
      title,
      lines: linesOf(digest, objects, target),
      fields: fieldsOf(digest, reason),
    },
    [],
    commandFor(target, where, objects.length),
  )
}

interface Member {
  target: Target
  reason: string
  /** A short description of the change. */
  what: string
}

const CHANGES = { ADDED: 'created', MODIFIED: 'changed', DELETED: 'deleted' } as const

function memberOf(item: DigestItem, { event }: SummaryInput): Member {
  const { regarding } = item
  const apiVersion = item.kind === event.kind ? event.apiVersion : ''
  const kind = text(regarding, 'kind')
  const name = text(regarding, 'name')
  const isKnown = kind !== '' && name !== ''
  const target = isKnown
    ? { apiVersion: text(regarding, 'apiVersion'), kind, namespace: text(regarding, 'namespace'), name }
    : { apiVersion, kind: text(item, 'kind'), namespace: text(item, 'namespace'), name: text(item, 'name') }
  const reason = text(item, 'reason')
  const phrase = phraseOf(text(item, 'title'), target) || withoutName(text(item, 'message'), target)
  const what = clause(phrase, 120) || (reason === '' ? CHANGES[item.type] : '')
  return { target, reason, what: what ?? 'changed' }
}

/** Returns the title of a summary without its object, which its line names: `evicted`. */
function phraseOf(title: string, target: Target): string {
  const subject = objectTitle(target)
  return title.startsWith(subject) ? title.slice(subject.length).replace(/^[:\s]*(?:was )?/, '') : ''
}

/** Returns a message without the name of its object at the end, which its line has already: ` in pod web-1_shop(6f1c…)`. */
function withoutName(message: string, { name, kind }: Target): string {
  const at = name === '' ? -1 : message.lastIndexOf(name)
  if (at < 0 || !/^(?:_[^\s()]*(?:\([^\s()]*\)?)?)?"?$/.test(message.slice(at + name.length))) return message
  const before = message.slice(0, at).toLowerCase()
  const link = ['in', 'of', 'for']
    .map((it) => ` ${it} ${kind.toLowerCase()} `)
    .find((it) => before.endsWith(it))
  return link === undefined ? message : message.slice(0, at - link.length)
}

interface ObjectOf {
  target: Target
  members: Member[]
}

/** Objects with the most events first. */
function objectsOf(members: readonly Member[]): ObjectOf[] {
  const objects = new Map<string, ObjectOf>()
  for (const member of members) {
    const { kind, namespace, name } = member.target
    const key = JSON.stringify([kind, namespace, name])
    const known = objects.get(key)
    if (known) known.members.push(member)
    else objects.set(key, { target: member.target, members: [member] })
  }
  return [...objects.values()].toSorted((a, b) => b.members.length - a.members.length)
}

/** The properties that all members share; '' where they differ. */
function common(members: readonly Member[]): Target {
  const shared = (key: keyof Target) => theOnly(members.map(({ target }) => target[key] ?? ''))
  const [kind, namespace] = [shared('kind'), shared('namespace')]
  const isOne = kind !== '' && theOnly(members.map(({ target }) => target.namespace ?? '')) === namespace
  return { apiVersion: shared('apiVersion'), kind, namespace, name: isOne ? shared('name') : '' }
}

function theOnly(texts: readonly string[]): string {
  const [first = ''] = texts
  return texts.every((it) => it === first) ? first : ''
}

function byValue({ by }: Digest, wanted: string): string {
  return by.find(([name]) => name === wanted)?.[1] ?? ''
}

function whatOf(members: readonly Member[], reason: string): string {
  if (reason !== '') return clause(reason, 60)
  if (members.some((it) => it.reason !== ''))
    return listed(distinct(members.map((it) => it.reason || 'change')), 3)
  const kind = theOnly(members.map(({ target }) => target.kind))
  const what = theOnly(members.map((it) => it.what))
  return oneLine(`${kind} ${what || 'changes'}`, 80)
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((it) => it !== '').map((it) => clause(it, 40))
}

/** ` (7 pods, 3 min)`; there may be more objects than items. */
function extent({ count, items, from, to }: Digest, objects: readonly ObjectOf[]): string {
  const kind = theOnly(objects.map(({ target }) => target.kind))
  const noun = /^[A-Za-z]{1,40}$/.test(kind) ? kind.toLowerCase() : 'object'
  const many = counted(objects.length, noun, plural(noun))
  const [fromMs, toMs] = [timeMs(from), timeMs(to)]
  const spanMs = fromMs === undefined || toMs === undefined ? 0 : toMs - fromMs
  const parts = [count > items.length ? `at least ${many}` : many, spanMs >= 1_000 ? duration(spanMs) : '']
  return ` (${parts.filter((it) => it !== '').join(', ')})`
}

function plural(noun: string): string {
  if (noun === 'endpoints') return noun
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`
  return /(?:s|x|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`
}

const MOST_LINES = 8
const MOST_NAMES = 8
/** Maximum length of the names in a line, which leaves room for its text. */
const MAX_NAMES = 100

/** A line for each text, with the objects that have it: `• web-1 (4 ×), web-2 and 3 more: Back-off restarting failed container app`. */
function linesOf({ count }: Digest, objects: readonly ObjectOf[], shared: Target): string[] {
  const differs = theOnly(objects.flatMap((it) => it.members.map(({ reason }) => reason))) === ''
  const alike = new Map<string, ObjectOf[]>()
  for (const object of objects) {
    const reason = differs ? listed(distinct(object.members.map((it) => it.reason)), 3) : ''
    const said = object.members.at(-1)?.what ?? ''
    const what = [reason, said].filter((it) => it !== '').join(', ')
    const known = alike.get(what)
    if (known) known.push(object)
    else alike.set(what, [object])
  }
  const groups = [...alike].toSorted(([, a], [, b]) => eventsOf(b) - eventsOf(a))
  const lines = groups
    .slice(0, MOST_LINES)
    .map(([what, some]) => `• ${namesOf(some, shared)}${what && `: ${what}`}`)
  const shown = groups.slice(0, MOST_LINES).flatMap(([, some]) => some)
  const others = objects.length - shown.length
  const events = count - eventsOf(shown)
  if (others > 0) lines.push(`… and ${counted(others, 'more object')} (${counted(events, 'event')})`)
  else if (events > 0) lines.push(`… and ${counted(events, 'more event')}`)
  return lines
}

function eventsOf(objects: readonly ObjectOf[]): number {
  return objects.reduce((sum, { members }) => sum + members.length, 0)
}

/** `web-1 (4 ×), web-2 and 3 more` */
function namesOf(objects: readonly ObjectOf[], shared: Target): string {
  const names = objects.map(({ target, members }) => {
    const kind = shared.kind === '' ? `${target.kind} ` : ''
    const namespace = shared.namespace || !target.namespace ? '' : `${target.namespace}/`
    return `${kind}${namespace}${target.name}${members.length > 1 ? ` (${members.length} ×)` : ''}`
  })
  let length = 0
  const fitting = names.slice(0, MOST_NAMES).filter((name, i) => {
    length += name.length + 2
    return i === 0 || length <= MAX_NAMES
  })
  return names.length > fitting.length
    ? `${fitting.join(', ')} and ${names.length - fitting.length} more`
    : fitting.join(', ')
}

/** Keys that the title already contains. */
const IN_TITLE = ['rule', 'namespace', 'reason', 'kind']

function fieldsOf({ by, from, to }: Digest, reason: string): Field[] {
  const [first, last] = [clock(from), clock(to)]
  const sameDay = first.slice(0, 11) === last.slice(0, 11)
  return [
    field('Reason', reason),
    ...by
      .filter(([name]) => !IN_TITLE.includes(name))
      .map(([name, value]) => field(oneLine(name, 60), value)),
    field('Between', `${sameDay ? first.replace(/ UTC$/, '') : first} – ${sameDay ? last.slice(11) : last}`),
  ]
}

const RANK: Readonly<Record<Severity, number>> = { resolved: 0, info: 1, warning: 2, error: 3 }

function worst({ event }: SummaryInput, items: readonly DigestItem[], first: Severity): Severity {
  const ofItems = items.map((item): Severity => {
    const reason = text(item, 'reason')
    if (reason === '')
      return item.severity === 'error' || item.severity === 'warning' ? item.severity : 'info'
    const type = text(item, 'eventType') || (event.event?.type ?? '')
    const message = text(item, 'message')
    return severityOfEvent({ type, reason, message, count: 1, regarding: item.regarding ?? {} })
  })
  return [first, ...ofItems].reduce((a, b) => (RANK[b] > RANK[a] ? b : a))
}

/** Returns a command that describes one object, or lists several of a kind. */
function commandFor(target: Target, namespace: string, objects: number): string {
  const { kind } = target
  if (kind === '') return ''
  if (objects === 1 && target.name !== '') return describe({ ...target, namespace })
  const name = 'any'
  return kubectl(
    { ...target, name, namespace },
    'get',
    quoted(resourceOf(target)),
    ...(namespace ? [] : ['-A']),
  )
}
