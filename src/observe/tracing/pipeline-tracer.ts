import type { Tracer } from '@opentelemetry/api'
import type { Logger } from '../log.ts'
import type { AttemptTrace, ChangeTrace, CommitTrace, PipelineTracer } from '../trace.ts'
import { traceAttempt } from './attempt-spans.ts'
import { traceCommit } from './change-spans.ts'

/** Runs code that must not disturb the pipeline: its first fault is logged, and each gives the fallback. */
type Guard = <T>(work: () => T, fallback: T) => T

/** Both sides of the queue. Whatever goes wrong in here costs spans, never an event. */
export function createPipelineTracer(tracer: Tracer, log: Logger): PipelineTracer {
  const guard = createGuard(log)
  const nothing: CommitTrace = { change: () => undefined, committed() {} }
  return {
    commit: (source) => guard(() => guardCommit(traceCommit(tracer, source), guard), nothing),
    attempt: (sink, lane, items) =>
      guard(() => {
        const attempt = traceAttempt(tracer, sink, lane, items)
        return attempt && guardAttempt(attempt, guard)
      }, undefined),
  }
}

function createGuard(log: Logger): Guard {
  let reported = false
  return (work, fallback) => {
    try {
      return work()
    } catch (error) {
      if (!reported) log.error({ error }, 'a fault of tracing; the pipeline is not affected')
      reported = true
      return fallback
    }
  }
}

function guardCommit(commit: CommitTrace, guard: Guard): CommitTrace {
  return {
    change: (transition) =>
      guard(() => {
        const change = commit.change(transition)
        return change && guardChange(change, guard)
      }, undefined),
    committed: () => guard(() => commit.committed(), undefined),
  }
}

function guardChange(change: ChangeTrace, guard: Guard): ChangeTrace {
  return {
    matched: (event, result) => guard(() => change.matched(event, result), []),
    malformed: () => guard(() => change.malformed(), undefined),
  }
}

function guardAttempt(attempt: AttemptTrace, guard: Guard): AttemptTrace {
  return {
    traced: (place, message) => guard(() => attempt.traced(place, message), message),
    answered: (outcomes) => guard(() => attempt.answered(outcomes), undefined),
    settled: (verdict) => guard(() => attempt.settled(verdict), undefined),
    [Symbol.dispose]: () => guard(() => attempt[Symbol.dispose](), undefined),
  }
}
