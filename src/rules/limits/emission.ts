import { type ClusterEvent, type EventHeader, headerOf, type KubeEvent } from '../../model/event.ts'
import type { Suppression } from '../../model/limit.ts'
import { summarize } from '../../render/summary/index.ts'
import type { Summary } from '../../sink/index.ts'
import { shorten } from '../../sink/template/formats.ts'
import type { StoredEmission, SuppressedBefore } from './states.ts'

/** An event to emit to sinks. */
export interface Emission {
  content: Content
  sinks: readonly string[]
  suppressed?: SuppressedBefore | undefined
}

/** Header and object of a delivery. Read on first use, because most suppressed events never need them. */
export interface Content {
  /** Enough to name the event. */
  readonly event: Suppression['event']
  readonly header: EventHeader
  readonly objectJson: Buffer
  /** The object waited in a state, and was too large for it. */
  readonly truncated?: true
}

/** Stored objects are complete up to this size. */
const MAX_OBJECT_BYTES = 256 * 1024
const MAX_MESSAGE = 10_000

export function emissionOf(event: ClusterEvent, sinks: readonly string[]): Emission {
  let content = contents.get(event)
  if (!content) {
    content = contentOf(event)
    contents.set(event, content)
  }
  return { content, sinks }
}

const contents = new WeakMap<ClusterEvent, Content>()

function contentOf(event: ClusterEvent): Content {
  let header: EventHeader | undefined
  return {
    event,
    get header() {
      header ??= headerOf(event)
      return header
    },
    get objectJson() {
      return event.objectJson
    },
  }
}

/**
 * Returns the emission as limit states store it: large objects and long texts are shortened. What is emitted immediately must not come
 * from here.
 */
export function toStored({ content, sinks, suppressed }: Emission): StoredEmission {
  const { objectJson } = content
  const stored = boundedJson(objectJson, MAX_OBJECT_BYTES)
  return {
    header: boundedHeader(content.header),
    object: stored.toString(),
    ...((content.truncated || stored !== objectJson) && { truncated: true as const }),
    sinks,
    ...(suppressed && { suppressed }),
  }
}

export function fromStored({ header, object, truncated, sinks, suppressed }: StoredEmission): Emission {
  const content = { event: header, header, objectJson: Buffer.from(object), ...(truncated && { truncated }) }
  return { content, sinks, suppressed }
}

/** Returns the title of the summary of an event, for its resolve notification. */
export function titleOf(emission: Emission): string {
  return summaryOf(emission).title
}

export function summaryOf({ content: { header, objectJson } }: Emission): Summary {
  return summarize({ event: header, object: parsed(objectJson) })
}

/** An object that cannot be parsed must not stop the limits. */
function parsed(json: Buffer): Record<string, unknown> {
  try {
    return JSON.parse(json.toString()) as Record<string, unknown>
  } catch {
    return {}
  }
}

export function sumOfSuppressed(
  a: SuppressedBefore | undefined,
  b: SuppressedBefore | undefined,
): SuppressedBefore | undefined {
  if (!a || !b) return a ?? b
  return { count: a.count + b.count, sinceMs: Math.min(a.sinceMs, b.sinceMs) }
}

/** Returns when the event was observed, in milliseconds, but not later than now. */
export function eventTimeMs({ time }: { time: string }, nowMs: number): number {
  const ms = Date.parse(time)
  return Number.isFinite(ms) ? Math.min(ms, nowMs) : nowMs
}

/** Shortens the texts that tenants control and the API server does not bound: those of an Event, owners and managers. */
function boundedHeader(header: EventHeader): EventHeader {
  const { event, owner, manager } = header
  return {
    ...header,
    ...(event && { event: boundedEvent(event) }),
    ...(owner && { owner: boundedTexts(owner) }),
    ...(manager !== undefined && { manager: boundedText(manager) }),
  }
}

function boundedEvent(event: KubeEvent): KubeEvent {
  const { message, regarding, count, ...texts } = event
  return {
    ...boundedTexts(texts),
    message: shorten(message, MAX_MESSAGE),
    count,
    regarding: boundedTexts(regarding),
  }
}

/** Applied in this order until the object fits. */
const STEPS = [
  { text: 4_000, entries: 1_000 },
  { text: 500, entries: 100 },
  { text: 100, entries: 20 },
]
const MAX_DEPTH = 40

/**
 * Returns the object unchanged if it fits into `maxBytes`. Else long texts are shortened and long lists and maps are cut; if that is
 * not enough, only its names remain.
 */
function boundedJson(json: Buffer, maxBytes: number): Buffer {
  if (json.length <= maxBytes) return json
  let object: unknown
  try {
    object = JSON.parse(json.toString())
  } catch {
    return Buffer.from('{}')
  }
  for (const step of STEPS) {
    const less = Buffer.from(JSON.stringify(cut(object, step, 0)))
    if (less.length <= maxBytes) return less
  }
  return Buffer.from(JSON.stringify(cut(nameOf(object), STEPS[2] as Step, 0)))
}

type Step = (typeof STEPS)[number]

function cut(value: unknown, step: Step, depth: number): unknown {
  if (typeof value === 'string') return shorten(value, step.text)
  if (typeof value !== 'object' || value === null) return value
  if (depth === MAX_DEPTH) return null
  if (Array.isArray(value)) return value.slice(0, step.entries).map((it) => cut(it, step, depth + 1))
  const entries = Object.entries(value).slice(0, step.entries)
  return Object.fromEntries(entries.map(([key, it]) => [shorten(key, 317), cut(it, step, depth + 1)]))
}

function nameOf(object: unknown): object {
  const { apiVersion, kind, metadata } = (object ?? {}) as Record<string, unknown>
  const { namespace, name, uid, resourceVersion } = (metadata ?? {}) as Record<string, unknown>
  return { apiVersion, kind, metadata: { namespace, name, uid, resourceVersion } }
}

/** The length of the longest name in Kubernetes. */
const MAX_TEXT = 253

export function boundedText(text: string): string {
  return shorten(text, MAX_TEXT)
}

export function boundedTexts<Texts extends object>(texts: Texts): Texts {
  return Object.fromEntries(
    Object.entries(texts).map(([key, value]) => [
      key,
      typeof value === 'string' ? boundedText(value) : value,
    ]),
  ) as Texts
}
