import type { Markup, Message, Outcome, Reply } from '../../../src/sink/index.ts'
import type { BatchFormat } from '../batches.ts'
import type { PresetOptions } from './options.ts'
import type { Cut } from './parts.ts'

/** What all presets have. Pure. */
interface Common {
  /** In which title, text, fields and the titles of links come. */
  markup: Markup
  /** Concurrent requests, unless the configuration sets them. */
  concurrency: number
  /** Maximum size of the body of one event, as JSON. */
  maxBytes: number
  /** The address, unless the configuration has one. */
  url?(options: PresetOptions): URL
  /**
   * Returns where a request goes, by the configured address: a path or query that the service needs. `message` is that of a request
   * with one event.
   */
  target?(base: URL, request: { options: PresetOptions; nowMs: number; message?: Message }): URL
  /** In place of the configured one. */
  method?: 'PUT'
  headers?(options: PresetOptions): Readonly<Record<string, string>>
  /** Returns the outcome of an answer that means something else than its status; undefined where the status decides. */
  answer?(reply: Reply): Outcome | undefined
  /** Returns the pause that the body of a 429 asks for. */
  retryAfterMs?(reply: string): number | undefined
  /** The answer of a success is read. */
  readsAnswers?: true
  /** Messages in any minute, unless the configuration sets it. */
  ratePerMinute?: number
}

/** The request format of a chat or pager: one message is one request. */
export interface MessagePreset extends Common {
  /** Returns the body. `cut` shortens a text to a number of UTF-16 units, or to fewer when the body as a whole would be too large. */
  body(message: Message, options: PresetOptions, cut: Cut, nowMs: number): unknown
}

/** Limits of the service. */
export interface BatchDefaults {
  max?: number
  maxBytes?: number
}

/** One event for a log store: its time and content. */
export interface LogEntry {
  message: Message
  /** When kubeherald observed it, RFC 3339. */
  time: string
  /** Plain data: a map, or what the sink's `body` makes. */
  value: unknown
}

/** The request format of a log store: many events are one request. */
export interface LogPreset extends Common {
  batch: BatchDefaults
  /** The parts of the requests that the service needs. */
  format(options: PresetOptions, clock: { now(): number }): LogFormat
}

export interface LogFormat {
  /** The part of one event. */
  part(entry: LogEntry): { bytes: Buffer; group?: string }
  body: BatchFormat['body']
  answers?: BatchFormat['answers']
  /** Maximum size of the answer that is read. */
  maxReplyBytes?: number
}

export type Preset = MessagePreset | LogPreset

/** Returns an address with this path behind its own, unless that ends with it. */
export function withPath(base: URL, path: string): URL {
  const url = new URL(base)
  const own = withoutSlashes(url.pathname)
  if (!own.endsWith(path)) url.pathname = own + path
  return url
}

/** Omits slashes at the end of a path. */
export function withoutSlashes(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}
