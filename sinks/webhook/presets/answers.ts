import type { Outcome, Reply } from '../../../src/sink/index.ts'

/** The meaning of the codes of a service that answers 200 to everything. */
export interface AnswerCodes {
  /** The member that has the code; 0 is success. */
  field: string
  /** Too many messages: the pause that follows, in milliseconds. */
  throttled: { codes: readonly number[]; afterMs: number }
  /** The operator must act: address, signature, keyword, bot. */
  config: readonly number[]
  /** The message can never be sent: its size or content. */
  rejected: readonly number[]
}

/**
 * Returns the outcome of an answer whose body has the result, also where its status is 200. Any unknown code is a failure of the one
 * message. Undefined where the status decides.
 */
export function outcomeOfCode({ status, body }: Reply, codes: AnswerCodes): Outcome | undefined {
  if (status === 0) return undefined
  const code = codeIn(body, codes.field)
  if (code === undefined) return status < 300 ? noResult(body) : undefined
  if (code === 0) return undefined
  const detail = `HTTP ${status}: ${body.slice(0, 1_000)}`
  const { throttled, config, rejected } = codes
  if (throttled.codes.includes(code))
    return { kind: 'retry', reason: 'rate-limited', detail, scope: 'sink', afterMs: throttled.afterMs }
  if (config.includes(code)) return { kind: 'retry', reason: 'config', detail, scope: 'sink' }
  if (rejected.includes(code)) return { kind: 'rejected', reason: 'rejected', detail }
  return { kind: 'retry', reason: 'server-error', detail, scope: 'event' }
}

/**
 * Returns the outcome of an answer that has the status of a bad message, but whose text means the target of all messages: the operator
 * must act, so the sink waits. Undefined where the status decides. Services use 400 unless `statuses` names others.
 */
export function targetFault(
  { status, body }: Reply,
  text: RegExp,
  statuses: readonly number[] = [400],
): Outcome | undefined {
  if (!statuses.includes(status) || !text.test(body)) return undefined
  return { kind: 'retry', reason: 'config', detail: `HTTP ${status}: ${body.slice(0, 500)}`, scope: 'sink' }
}

/** A proxy or a login page in between answers 200, too. */
function noResult(body: string): Outcome {
  const detail = `the answer has no result; is url that of the service? ${body.slice(0, 200)}`.trimEnd()
  return { kind: 'retry', reason: 'server-error', detail, scope: 'sink', ambiguous: true }
}

function codeIn(body: string, field: string): number | undefined {
  const code = memberOf(body, field)
  return typeof code === 'number' ? code : undefined
}

/** Returns a member of the JSON object that a body is. */
export function memberOf(body: string, field: string): unknown {
  try {
    const value = JSON.parse(body) as unknown
    return typeof value === 'object' && value !== null && Object.hasOwn(value, field)
      ? (value as Record<string, unknown>)[field]
      : undefined
  } catch {
    return undefined
  }
}

/** Returns the milliseconds of a member that has seconds, such as `"retry_after": 0.65`. */
export function retryAfterIn(reply: string, field: string): number | undefined {
  const seconds = Number(new RegExp(`"${field}"\\s*:\\s*(\\d+(?:\\.\\d+)?)`).exec(reply)?.[1])
  return Number.isFinite(seconds) ? Math.ceil(seconds * 1_000) : undefined
}
