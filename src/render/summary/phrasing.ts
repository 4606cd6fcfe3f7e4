import type { FieldChange } from '../../model/event.ts'
import { type Field, printable, type Summary } from '../../sink/index.ts'
import { clock } from '../../sink/message.ts'
import { spanText } from '../../sink/template/formats.ts'
import { objectTitle } from '../../text/object-title.ts'
import type { Draft, SummaryInput } from './summarizer.ts'

/** 1st, 2nd, 3rd, 4th, 11th. */
export function ordinal(count: number): string {
  const tens = count % 100
  const ending = tens > 10 && tens < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th')
  return `${count}${ending}`
}

/** In kubectl's format: `3m12s`, `12m`, `2d4h`. */
export function duration(ms: number): string {
  return spanText(Math.round(ms / 1_000))
}

/** The first of them, and how many more there are: `a, b and 3 more`. */
export function listed(items: readonly string[], most = 4): string {
  const shown = items.slice(0, most).join(', ')
  return items.length > most ? `${shown} and ${items.length - most} more` : shown
}

/** At most `most` UTF-16 units, cut between characters, with … where something is missing. */
function shorten(text: string, most: number): string {
  if (text.length <= most) return text.toWellFormed()
  return `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`.toWellFormed()
}

/** One line without control characters and double spaces. */
export function oneLine(text: string, most: number): string {
  return shorten(
    printable(text.slice(0, most * 4))
      .replace(/[\s\u2028\u2029]+/g, ' ')
      .trim(),
    most,
  )
}

/** Returns another program's message as a clause: one line, without RPC prefix and final full stop. */
export function clause(message: string, most = 110): string {
  return oneLine(withoutRpc(message), most).replace(/(?<![.:;,\s])[.:;,\s]+$/, '')
}

export function withoutRpc(message: string): string {
  return message.replace(/\brpc error: code = \w{1,40} desc = /g, '')
}

/** `: clause`, or nothing. */
export function because(message: string, most = 110): string {
  const why = clause(message, most)
  return why === '' ? '' : `: ${why}`
}

/** A sentence of another program's message, with a full stop. */
export function sentence(message: string, most = 300): string {
  const said = oneLine(message, most)
  return said === '' || /[.!?…]$/.test(said) ? said : `${said}.`
}

/** `DiskPressure` becomes `disk pressure`. A name that is not in camel case stays as it is. */
export function separated(name: string): string {
  if (!/^(?:[A-Z][a-z0-9]+)+$/.test(name)) return name
  return name.replace(/(?!^)[A-Z]/g, (it) => ` ${it}`).toLowerCase()
}

/** The scheduler's verdict without its remarks about claims and preemption. */
export function schedulingClause(message: string): string {
  return message.replace(
    /[.;,]? ?(?:no new claims to deallocate|preemption:|still not schedulable)[\s\S]*$/,
    '',
  )
}

const MAX = {
  title: 200,
  subject: 110,
  text: 500,
  line: 200,
  name: 60,
  fields: 8,
  value: 200,
  quote: 4_000,
  changes: 40,
}

/** Adds the object's name to a draft and bounds all lengths. */
export function finish(
  about: Target,
  draft: Draft,
  changes: readonly FieldChange[],
  command: string,
): Summary {
  const { kind, namespace = '', name } = about
  const subject = oneLine(objectTitle(about), MAX.subject)
  return {
    severity: draft.severity,
    title: oneLine(draft.title ?? `${subject}${draft.phrase}`, MAX.title),
    text: [oneLine(draft.text ?? '', MAX.text), ...(draft.lines ?? []).map((it) => oneLine(it, MAX.line))]
      .filter((it) => it !== '')
      .join('\n'),
    about: {
      kind: oneLine(kind, MAX.value),
      ...(namespace !== '' && { namespace: oneLine(namespace, MAX.value) }),
      name: oneLine(name, 253),
    },
    fields: bounded(draft.fields ?? []),
    quote: quoteOf(draft.quote ?? ''),
    changes: changes.slice(0, MAX.changes),
    command,
  }
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

/** Keeps the first field of each title, without empty ones. Times get the format of messages. */
function bounded(fields: readonly Field[]): Field[] {
  const titles = new Set<string>()
  const kept: Field[] = []
  for (const field of fields) {
    const text = oneLine(field.value, MAX.value)
    const value = RFC_3339.test(text) ? clock(text) : text
    if (value === '' || titles.has(field.title) || kept.length === MAX.fields) continue
    titles.add(field.title)
    kept.push({ title: field.title, value })
  }
  return kept
}

const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** The literal text with its lines; control characters become spaces. */
function quoteOf(message: string): string {
  return shorten(
    message
      .slice(0, MAX.quote * 2)
      .replace(/\r\n/g, '\n')
      .replace(CONTROLS, ' ')
      .trim(),
    MAX.quote,
  )
}

/** The object of a command. */
export interface Target {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string | undefined
  readonly name: string
}

/** Longer than any name that Kubernetes allows. */
const MAX_NAME = 253

/** `kubectl -n shop describe pod web-1`; '' if the name is missing or invalid. */
export function kubectl(target: Target, verb: string, ...rest: readonly string[]): string {
  const { namespace = '', name, kind } = target
  if (name === '' || [namespace, name, kind].some((it) => it.length > MAX_NAME || it.startsWith('-')))
    return ''
  const scope = namespace === '' ? [] : ['-n', quoted(namespace)]
  return ['kubectl', ...scope, verb, ...rest].join(' ')
}

export function describe(target: Target): string {
  return kubectl(target, 'describe', quoted(resourceOf(target)), quoted(target.name))
}

/** The logs of the container's last run that ended. */
export function previousLogs(target: Target, container: string): string {
  const which = container === '' ? [] : ['-c', quoted(container)]
  return kubectl(target, 'logs', quoted(target.name), ...which, '--previous')
}

export function rolloutStatus(target: Target): string {
  const { kind, name } = target
  return kubectl(target, 'rollout', 'status', quoted(`${kind.toLowerCase()}/${name}`))
}

/** Lists the Events of a deleted object. */
export function eventsAbout(target: Target): string {
  const selector = quoted(`involvedObject.kind=${target.kind},involvedObject.name=${target.name}`)
  const everywhere = target.namespace ? [] : ['-A']
  return kubectl(target, 'get', 'events', ...everywhere, '--field-selector', selector)
}

export function targetOf({ event }: SummaryInput): Target {
  const { apiVersion, kind, namespace, name } = event
  return { apiVersion, kind, namespace, name }
}

/** Kubernetes' own groups: their kinds need no group behind them. */
const BUILT_IN = new Set([
  ...['', 'apps', 'autoscaling', 'batch', 'policy', 'apiextensions.k8s.io', 'apiregistration.k8s.io'],
  ...['networking.k8s.io', 'storage.k8s.io', 'rbac.authorization.k8s.io', 'discovery.k8s.io'],
  ...['scheduling.k8s.io', 'coordination.k8s.io', 'certificates.k8s.io', 'admissionregistration.k8s.io'],
])

/** Returns true for the groups of Kubernetes' own kinds. */
export function isBuiltIn(apiVersion: string): boolean {
  return BUILT_IN.has(groupOf(apiVersion))
}

/** The group of an apiVersion; '' for the core group. */
export function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
}

export function resourceOf({ apiVersion, kind }: Target): string {
  return isBuiltIn(apiVersion) ? kind.toLowerCase() : `${kind.toLowerCase()}.${groupOf(apiVersion)}`
}

/** One word for a POSIX shell; control characters are spaces. */
export function quoted(word: string): string {
  if (/^[A-Za-z0-9._/=,-]+$/.test(word)) return word
  const line = printable(word.toWellFormed()).replace(/[\u2028\u2029]/g, ' ')
  return `'${line.replaceAll("'", "'\\''")}'`
}
