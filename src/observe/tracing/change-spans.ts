import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import type { Source, Transition } from '../../model/change.ts'
import type { TraceContext } from '../../model/delivery.ts'
import type { ClusterEvent } from '../../model/event.ts'
import type { ChangeTrace, CommitTrace, Matched } from '../trace.ts'
import {
  attributesOf,
  contextOf,
  inside,
  linkBatch,
  messagingAttributes,
  redisAttributes,
  type Stopwatch,
  startStopwatch,
} from './attributes.ts'

/**
 * The side of a trace before the queue, one trace for each change:
 *
 *   watch ─┬─ match
 *          ├─ send <sink>         one for each delivery; its attempts continue this span
 *          └─ commit              one for all changes of a transaction, linked with them
 */
export function traceCommit(tracer: Tracer, { resource }: Source): CommitTrace {
  const { plural, group } = resource
  const name = group === '' ? plural : `${plural}.${group}`
  const changes: ChangeSpans[] = []
  return {
    change({ observedAtMs }: Transition) {
      const options = { kind: SpanKind.CONSUMER, startTime: observedAtMs }
      const root = tracer.startSpan(`watch ${name}`, options, ROOT_CONTEXT)
      if (!root.isRecording()) return undefined
      const change = new ChangeSpans(tracer, root, startStopwatch())
      changes.push(change)
      return change
    },
    committed() {
      const [first] = changes
      if (!first) return
      const startTime = changes.reduce((latest, { decidedMs }) => Math.max(latest, decidedMs), 0)
      const endTime = Math.max(Date.now(), startTime)
      const attributes = {
        ...redisAttributes('EVALSHA'),
        ...(changes.length > 1 && { 'db.operation.batch.size': changes.length }),
      }
      const options = { kind: SpanKind.CLIENT, startTime, attributes }
      const commit = tracer.startSpan(`commit ${name}`, options, inside(first.root))
      linkBatch(
        commit,
        changes.map(({ root }) => root),
      )
      commit.end(endTime)
      for (const change of changes) change.end(endTime)
    },
  }
}

class ChangeSpans implements ChangeTrace {
  readonly root: Span
  /** When rules had decided. */
  decidedMs: number
  readonly #tracer: Tracer
  readonly #watch: Stopwatch
  #sends: Span[] = []

  constructor(tracer: Tracer, root: Span, watch: Stopwatch) {
    this.#tracer = tracer
    this.root = root
    this.#watch = watch
    this.decidedMs = watch.startedMs
  }

  matched(event: ClusterEvent, { sends, dropped, limited }: Matched): TraceContext[] {
    this.decidedMs = this.#watch.nowMs()
    const result = resultOf(
      sends.length > 0,
      limited.some(({ entered }) => entered),
      dropped,
    )
    const about = attributesOf(event)
    const decision = {
      'kubeherald.result': result,
      ...(sends.length > 0 && {
        'kubeherald.rules': [...new Set(sends.map(({ rule }) => rule))],
        'kubeherald.sinks': sends.map(({ sink }) => sink),
      }),
    }
    this.root.setAttributes({ ...about, ...decision })
    const startTime = this.#watch.startedMs
    this.#tracer
      .startSpan('match', { startTime, attributes: decision }, inside(this.root))
      .end(this.decidedMs)
    this.#sends = sends.map(({ sink, rule }) =>
      this.#tracer.startSpan(
        `send ${sink}`,
        {
          kind: SpanKind.PRODUCER,
          startTime: this.decidedMs,
          attributes: { ...messagingAttributes('send', sink, event.id), ...about, 'kubeherald.rule': rule },
        },
        inside(this.root),
      ),
    )
    return this.#sends.map(contextOf)
  }

  malformed(): void {
    this.#sends = []
    this.decidedMs = this.#watch.nowMs()
    this.root.setAttributes({ 'kubeherald.result': 'malformed', 'error.type': 'malformed' })
    this.root.setStatus({ code: SpanStatusCode.ERROR, message: 'the object cannot be read' })
  }

  /** All of it is durable. */
  end(endTime: number): void {
    for (const send of this.#sends) send.end(endTime)
    this.root.end(endTime)
  }
}

/** What limits make of it is known only later. */
function resultOf(sent: boolean, limited: boolean, dropped: boolean): string {
  if (sent) return 'matched'
  if (limited) return 'limited'
  return dropped ? 'dropped' : 'unmatched'
}
