import type { EventHeader, FieldChange } from '../../model/event.ts'
import type { Field, Severity, Subject } from '../../sink/index.ts'

/** The input of a summary. */
export interface SummaryInput {
  readonly event: EventHeader
  readonly object: Readonly<Record<string, unknown>>
  readonly rule?: string
  readonly notice?: NonNullable<Subject['notice']>
}

/** A summary before names are added and lengths are bounded. */
export interface Draft {
  readonly severity: Severity
  /** Follows the name in the title: `is ready`, or `: container app failed`. */
  readonly phrase: string
  /** Replaces the name and the phrase. */
  readonly title?: string
  readonly text?: string
  /** Lines of text, behind it. */
  readonly lines?: readonly string[]
  /** Those with an empty value are left out. */
  readonly fields?: readonly Field[]
  readonly quote?: string
  /** Instead of the kind's own. */
  readonly command?: string
}

/** Summarizes one kind of object. Where a part returns nothing, the generic summarizer is used. */
export interface Summarizer {
  /** The current problem. */
  trouble?(input: SummaryInput): Draft | undefined
  /** Changes of the desired state (spec). */
  wanted?(input: SummaryInput, changes: readonly FieldChange[]): Draft | undefined
  /** The new status, with the changes if they are known. */
  state?(input: SummaryInput): Draft | undefined
  /** It has a deletionTimestamp, but is still there. */
  ending?(input: SummaryInput): Draft
  /** A sentence about a new one. */
  created?(input: SummaryInput): string
  fields?(input: SummaryInput): readonly Field[]
  command?(input: SummaryInput): string
  /** The changes that may be shown. */
  shown?(changes: readonly FieldChange[]): readonly FieldChange[]
}

/** An object of any size is read no further than this. */
const MAX_ITEMS = 200
const MAX_TEXT = 8_000

/** Returns the value at a path of own properties; undefined if there is none. Never throws. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return valueAt(value, path)
}

/** Takes the path as a list: spreading it again for each function costs time. */
function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  let found = value
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined
    found = (found as Record<string | number, unknown>)[key]
  }
  return found
}

/** '' when it is not text. */
export function text(value: unknown, ...path: readonly (string | number)[]): string {
  return textAt(value, path)
}

function textAt(value: unknown, path: readonly (string | number)[]): string {
  const found = valueAt(value, path)
  return typeof found === 'string' ? found.slice(0, MAX_TEXT) : ''
}

/** Undefined when it is not a finite number. */
export function number(value: unknown, ...path: readonly (string | number)[]): number | undefined {
  const found = valueAt(value, path)
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined
}

/** Returns the first items of an array, or []. */
export function list(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = valueAt(value, path)
  return Array.isArray(found) ? found.slice(0, MAX_ITEMS) : []
}

/** The texts of an array. */
export function texts(value: unknown, ...path: readonly (string | number)[]): readonly string[] {
  return list(value, ...path)
    .map((it) => text(it))
    .filter((it) => it !== '')
}

/** The first own keys; [] when it is not a map. */
export function keys(value: unknown, ...path: readonly (string | number)[]): readonly string[] {
  const found = valueAt(value, path)
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return []
  return Object.keys(found).slice(0, MAX_ITEMS)
}

/** Returns milliseconds since 1970 of an RFC 3339 text, or undefined. */
export function timeMs(value: unknown, ...path: readonly (string | number)[]): number | undefined {
  const found = textAt(value, path)
  if (!/^\d{4}-\d\d-\d\dT/.test(found)) return undefined
  const ms = Date.parse(found)
  return Number.isNaN(ms) ? undefined : ms
}

/** Returns a text or number as text; '' for other values. */
export function scalar(value: unknown, ...path: readonly (string | number)[]): string {
  const found = valueAt(value, path)
  return typeof found === 'number' ? String(found) : text(found)
}

/** When it was observed. */
function nowMs({ event }: SummaryInput): number | undefined {
  return timeMs(event.time)
}

/** How long ago something was, as seen from the observation; undefined when a time is missing. */
export function agoMs(input: SummaryInput, time: string): number | undefined {
  const now = nowMs(input)
  const then = timeMs(time)
  return now === undefined || then === undefined ? undefined : now - then
}

/** A status is written immediately: an older change is not the subject of this message. */
const RECENT_MS = 30_000

export function isRecent(input: SummaryInput, time: string): boolean {
  const ago = agoMs(input, time)
  return ago !== undefined && ago < RECENT_MS
}

/** An object that becomes ready in its first minutes was not ready before. */
const SETTLED_MS = 10 * 60_000

/** Returns whether it is a state that lasted until now: its rule has waited as long as a start may take. */
export function isHeld({ event }: SummaryInput): boolean {
  return event.heldAt !== undefined
}

/** Returns true if the object is older than a first start takes; false if its age is not known. */
export function isSettled(input: SummaryInput): boolean {
  if (isHeld(input)) return true
  const age = agoMs(input, text(input.object, 'metadata', 'creationTimestamp'))
  return age !== undefined && age > SETTLED_MS
}

/** A deletion stops the parts of an object: their end is not a problem of its own. */
export function isEnding({ object }: SummaryInput): boolean {
  return text(object, 'metadata', 'deletionTimestamp') !== ''
}

export function field(title: string, value: string | number | undefined): Field {
  return { title, value: value === undefined ? '' : String(value) }
}

/** `Deployment web`: the controller; for a ReplicaSet the Deployment that created it. '' if there is none. */
export function ownerOf({ object }: SummaryInput): string {
  const owner = list(object, 'metadata', 'ownerReferences').find((it) => at(it, 'controller') === true)
  const kind = text(owner, 'kind')
  const name = text(owner, 'name')
  if (kind === '' || name === '') return ''
  const hash = text(object, 'metadata', 'labels', 'pod-template-hash')
  const made = kind === 'ReplicaSet' && hash !== '' && name.endsWith(`-${hash}`)
  return made ? `Deployment ${name.slice(0, -hash.length - 1)}` : `${kind} ${name}`
}

/** Components of Kubernetes that react to writes of others. */
const PARTS =
  /^(?:kube-(?:controller-manager|scheduler|apiserver|proxy)|kubelet|cloud-controller-manager|k3s|Go-http-client)$/

/** Returns the manager that wrote the object, except Kubernetes' own components. */
export function writerOf({ event: { manager = '' } }: SummaryInput): string {
  return PARTS.test(manager) ? '' : manager
}
