import type { Logger } from '../log.ts'
import { redactMessage } from '../redact.ts'
import type { Health, Sink } from '../sink/index.ts'
import type { SinkStatus } from '../status.ts'

/** What sinks say of themselves when they are asked, beside what their deliveries show. */
export interface SinkHealth {
  /** Statuses with what the last answer adds. */
  merge(statuses: readonly SinkStatus[]): SinkStatus[]
  /** Asks these again now. */
  ask(names: Iterable<string>): void
  /** A sink is gone, and what it said of itself. */
  forget(name: string): void
  close(): void
}

const EVERY_MS = 60_000
const ANSWER_MS = 20_000

/** Asks every sink after the start, and again while nothing is delivered that would show how it is. */
export function watchSinkHealth(
  sinks: ReadonlyMap<string, Sink>,
  parts: { log: Logger; clock: { now(): number }; statuses(): readonly SinkStatus[] },
): SinkHealth {
  const answers = new Map<string, { health: Health; atMs: number }>()
  const closing = new AbortController()

  async function ask(name: string): Promise<void> {
    const sink = sinks.get(name)
    if (!sink?.health || closing.signal.aborted) return
    const health = await askHealth(sink, closing.signal)
    if (closing.signal.aborted || sinks.get(name) !== sink) return
    const before = answers.get(name)?.health
    answers.set(name, { health, atMs: parts.clock.now() })
    tell(parts.log, name, health, before)
  }

  const askAll = (names: Iterable<string>) => {
    for (const name of names) void ask(name)
  }
  askAll(sinks.keys())
  const timer = setInterval(() => {
    const since = parts.clock.now() - EVERY_MS
    askAll(
      parts
        .statuses()
        .filter(({ lastDeliveredMs = 0 }) => lastDeliveredMs < since)
        .map(({ sink }) => sink),
    )
  }, EVERY_MS)

  return {
    merge: (statuses) => statuses.map((status) => merged(status, answers.get(status.sink))),
    ask: askAll,
    forget: (name) => void answers.delete(name),
    close() {
      clearInterval(timer)
      closing.abort()
    },
  }
}

/** Asks one sink; what it throws, or takes too long for, is an answer too. */
export async function askHealth(sink: Sink, signal: AbortSignal): Promise<Health> {
  if (!sink.health) return { ok: true }
  const limit = new AbortController()
  const late = Promise.withResolvers<Health>()
  const abort = () => {
    limit.abort()
    late.resolve(LATE)
  }
  // Nothing of it outlives the call: reloads may ask often.
  const timer = setTimeout(abort, ANSWER_MS)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  try {
    const health = await Promise.race([sink.health(limit.signal), late.promise])
    return health.ok ? health : { ...health, detail: redactMessage(health.detail) }
  } catch (error) {
    return { ok: false, reason: 'unknown', detail: redactMessage(String((error as Error)?.message ?? error)) }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

const LATE: Health = { ok: false, reason: 'timeout', detail: `no answer within ${ANSWER_MS / 1_000} s` }

/** A delivery since then tells more than an answer. */
function merged(status: SinkStatus, answer: { health: Health; atMs: number } | undefined): SinkStatus {
  if (!answer || answer.health.ok || (status.lastDeliveredMs ?? 0) > answer.atMs) return status
  const { reason, detail } = answer.health
  return { ...status, healthy: false, lastError: `${reason}: ${detail}`, lastErrorMs: answer.atMs }
}

function tell(log: Logger, sink: string, health: Health, before: Health | undefined): void {
  if (!health.ok) {
    const { reason, detail } = health
    if (!before || before.ok || before.detail !== detail)
      log.warn({ sink, reason, detail }, 'the sink says that deliveries would fail')
    return
  }
  if (before && !before.ok) log.info({ sink }, 'the sink says that it is well again')
  for (const warning of before ? [] : (health.warnings ?? [])) log.warn({ sink }, warning)
}
