import { type ClusterEvent, type EventHeader, headerOf, type KubeEvent } from '../event.ts'
import { shorten } from '../sink/template/filters/shorten.ts'
import { boundedJson } from './bounded-json.ts'
import { boundedText, boundedTexts } from './bounded-texts.ts'
import type { Held, HeldBack } from './states.ts'

/** An event on its way to sinks. */
export interface Told {
  content: Content
  sinks: readonly string[]
  heldBack?: HeldBack | undefined
}

/** What a delivery says of an event. Made on first use: most of what is held back is never looked into. */
export interface Content {
  readonly header: EventHeader
  readonly objectJson: Buffer
}

/** Objects that wait are kept whole up to so many bytes. */
const MAX_OBJECT_BYTES = 256 * 1024
const MAX_MESSAGE = 10_000

export function toldOf(event: ClusterEvent, sinks: readonly string[]): Told {
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
    get header() {
      header ??= headerOf(event)
      return header
    },
    get objectJson() {
      return event.objectJson
    },
  }
}

/** As it lies in a state. */
export function packed({ content, sinks, heldBack }: Told): Held {
  return {
    header: boundedHeader(content.header),
    object: boundedJson(content.objectJson, MAX_OBJECT_BYTES).toString(),
    sinks,
    ...(heldBack && { heldBack }),
  }
}

export function unpacked({ header, object, sinks, heldBack }: Held): Told {
  return { content: { header, objectJson: Buffer.from(object) }, sinks, heldBack }
}

/** Both together, where there is any. */
export function heldBackTogether(a: HeldBack | undefined, b: HeldBack | undefined): HeldBack | undefined {
  if (!a || !b) return a ?? b
  return { count: a.count + b.count, sinceMs: Math.min(a.sinceMs, b.sinceMs) }
}

/** When an event happened, as far as limits go: when it was observed, but never later than now. */
export function timeOf({ time }: { time: string }, nowMs: number): number {
  const ms = Date.parse(time)
  return Number.isFinite(ms) ? Math.min(ms, nowMs) : nowMs
}

/**
 * Without what tenants write as long as they like: of an Event every text, of any object the owner that it names. What the API
 * server bounds or makes itself, as uid and path, stays.
 */
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
