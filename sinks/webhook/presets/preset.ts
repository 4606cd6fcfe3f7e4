import type { Markup, Message } from '../../../src/sink/index.ts'

/** What a section may say for its preset; `config.ts` sees to it that nothing is missing. */
export interface PresetOptions {
  routingKey?: string | undefined
  action?: 'auto' | 'trigger' | 'acknowledge' | 'resolve' | undefined
  resolveAfterMs?: number | undefined
  labels?: Readonly<Record<string, string>> | undefined
  username?: string | undefined
  iconUrl?: string | undefined
  channel?: string | undefined
}

/** How a service that people read wants its requests: pure. */
export interface Preset {
  /** In which title, text, fields and the titles of links come. */
  markup: Markup
  /** Requests under way at once, unless the configuration says otherwise. */
  concurrency: number
  /** Of the body, as JSON. */
  maxBytes: number
  /** `cut` shortens a text to so many UTF-16 units, to fewer when the body would be too large as a whole. */
  body(message: Message, options: PresetOptions, cut: Cut): unknown
  /** How long to wait, where an answer says it in its body. */
  retryAfterMs?(reply: string): number | undefined
}

export type Cut = (text: string, max: number) => string
