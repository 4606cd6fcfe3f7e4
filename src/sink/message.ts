import type { EventHeader } from '../event.ts'

/** A rendered delivery. Everything that a sink may send lies in here. */
export interface Message {
  /** Stays the same over all attempts: for idempotency keys. */
  readonly id: string
  readonly rule: string
  readonly event: EventHeader
  /** How many times it was tried before; 0 on the first try. */
  readonly attempt: number
  /** The object (trimmed, Secret values hashed), parsed on first use. */
  readonly object: Readonly<Record<string, unknown>>
  /** The CloudEvents 1.0 envelope in structured JSON: UTF-8 bytes, one line, made on first use. */
  readonly cloudEvent: Buffer
}
