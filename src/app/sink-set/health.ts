import type { SinkStatus } from '../../model/status.ts'
import type { Logger } from '../../observe/log.ts'
import type { Health, Sink } from '../../sink/index.ts'
import { redactMessage } from '../../text/redact.ts'

/** Results of the sinks' health checks, in addition to the outcomes of deliveries. */
export interface SinkHealth {
  /** Returns the statuses with the results of the last health checks, and what sinks warn of now. */
  merge(statuses: readonly SinkStatus[]): SinkStatus[]
  /** Checks these sinks now. */
  ask(names: Iterable<string>): void
  /** Forgets a removed sink. */
  forget(name: string): void
  close(): void
}

const EVERY_MS = 60_000
const ANSWER_MS = 20_000

/** Checks every sink after the start, and again while no delivery shows its state. */
export function watchSinkHealth(
  sinks: ReadonlyMap<string, Sink>,
  parts: { log: Logger; clock: { now(): number }; statuses(): readonly SinkStatus[] },
): SinkHealth {
  const answers = new Map<string, { health: Health; atMs: number }>()
  const closing = new AbortController()
  /** Sink → its last check: a reload may have replaced the sink that an earlier check asked. */
  const last = new Map<string, symbol>()

  async function ask(name: string): Promise<void> {
    const sink = sinks.get(name)
    if (!sink?.health || closing.signal.aborted) return
    const own = Symbol(name)
    last.set(name, own)
    const health = await askHealth(sink, closing.signal)
    if (closing.signal.aborted || sinks.get(name) !== sink || last.get(name) !== own) return
    const before = answers.get(name)?.health
    answers.set(name, { health, atMs: parts.clock.now() })
    logHealth(parts.log, name, health, before)
  }

  const askAll = (names: Iterable<string>) => {
    for (const name of names) void ask(name)
  }
  askAll(sinks.keys())
  const timer = setInterval(() => {
    const nowMs = parts.clock.now()
    // A time to come is of a clock that was set back since.
    const isQuiet = (atMs: number) => atMs < nowMs - EVERY_MS || atMs > nowMs
    askAll(
      parts
        .statuses()
        .filter(({ lastDeliveredMs = 0 }) => isQuiet(lastDeliveredMs))
        .map(({ sink }) => sink),
    )
  }, EVERY_MS)

  return {
    merge: (statuses) =>
      statuses.map((status) =>
        withWarnings(merged(status, answers.get(status.sink)), sinks.get(status.sink)),
      ),
    ask: askAll,
    forget(name) {
      answers.delete(name)
      last.delete(name)
    },
    close() {
      clearInterval(timer)
      closing.abort()
    },
  }
}

/** Checks one sink; an error or a timeout is a result too. `hide` takes secrets out of its detail, which is redacted, too. */
export async function askHealth(
  sink: Sink,
  signal: AbortSignal,
  hide = (detail: string) => detail,
): Promise<Health> {
  if (!sink.health) return { ok: true }
  const limit = new AbortController()
  const late = Promise.withResolvers<Health>()
  const abort = () => {
    limit.abort()
    late.resolve(LATE)
  }
  // No listener outlives the call, because reloads can check often.
  const timer = setTimeout(abort, ANSWER_MS)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  try {
    const health = await Promise.race([sink.health(limit.signal), late.promise])
    return health.ok ? health : { ...health, detail: redactMessage(hide(health.detail)) }
  } catch (error) {
    const detail = redactMessage(hide(String((error as Error)?.message ?? error)))
    return { ok: false, reason: 'unknown', detail }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

const LATE: Health = { ok: false, reason: 'timeout', detail: `no answer within ${ANSWER_MS / 1_000} s` }

const MOST_WARNINGS = 5
const MAX_WARNING = 300

/** What a sink warns of now; one that cannot be asked warns of nothing. */
function withWarnings(status: SinkStatus, sink: Sink | undefined): SinkStatus {
  try {
    const warnings = (sink?.warnings?.() ?? []).slice(0, MOST_WARNINGS)
    if (warnings.length === 0) return status
    const texts = warnings.map((it) => redactMessage(String(it)).slice(0, MAX_WARNING).toWellFormed())
    return { ...status, warnings: texts }
  } catch {
    return status
  }
}

/** A later delivery is more reliable than a health check. */
function merged(status: SinkStatus, answer: { health: Health; atMs: number } | undefined): SinkStatus {
  if (!answer || answer.health.ok || (status.lastDeliveredMs ?? 0) > answer.atMs) return status
  const { reason, detail } = answer.health
  return { ...status, healthy: false, lastError: `${reason}: ${detail}`, lastErrorMs: answer.atMs }
}

function logHealth(log: Logger, sink: string, health: Health, before: Health | undefined): void {
  if (!health.ok) {
    const { reason, detail } = health
    if (!before || before.ok || before.detail !== detail)
      log.warn({ sink, reason, detail }, 'the health check of the sink failed: deliveries would fail too')
    return
  }
  if (before && !before.ok) log.info({ sink }, 'the health check of the sink succeeds again')
  for (const warning of before ? [] : (health.warnings ?? [])) log.warn({ sink }, warning)
}
