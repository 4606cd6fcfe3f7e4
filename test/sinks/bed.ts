import type { ContainerLog, Delivery, TraceContext } from '../../src/model/delivery.ts'
import type { KubeEvent } from '../../src/model/event.ts'
import { silentLog } from '../../src/observe/log.ts'
import { TracedMessage } from '../../src/observe/tracing/attempt-spans.ts'
import { createRender } from '../../src/render/message.ts'
import type { Message, SinkContext, SinkMetrics, SinkType } from '../../src/sink/index.ts'
import { memoryStore } from '../../src/sink/testkit/context.ts'
import { contentOfSummary } from '../render/content-of-summary.ts'
import { headerFor } from '../store/objects.ts'

/** What a message is made of; the rest is a ConfigMap named web that changed. */
export interface MessageParts {
  name?: string
  version?: string
  uid?: string
  type?: Delivery['event']['type']
  rule?: string
  /** Parts of the event's header. */
  event?: Partial<Delivery['event']>
  kubeEvent?: Partial<KubeEvent>
  object?: object
  /** The options that the rule has for the sink, as they come out of the type's schema. */
  route?: unknown
  attempt?: number
  logs?: ContainerLog
  releasedAt?: string
  retried?: true
  trace?: TraceContext
}

/** A message as the core renders it for a sink type. */
export function messageOf(parts: MessageParts = {}, type: Pick<SinkType, 'escape'> = {}): Message {
  const { name = 'web', version = '7', uid = `uid-${name}`, rule = 'all' } = parts
  const kubeEvent = parts.kubeEvent && {
    event: { type: 'Normal', reason: '', message: '', count: 1, regarding: {}, ...parts.kubeEvent },
  }
  const event = { ...headerFor(name, version, parts.type ?? 'MODIFIED', uid), ...parts.event, ...kubeEvent }
  const render = createRender({
    routeOf: () => parts.route ?? {},
    contentOf: ({ summary }) => contentOfSummary(summary, type.escape),
  })
  const objectJson = Buffer.from(JSON.stringify(parts.object ?? {}))
  const { logs, releasedAt, retried } = parts
  const delivery = {
    ...{ sink: 'hook', rule, event, objectJson },
    ...(logs && { logs }),
    ...(releasedAt && { releasedAt }),
    ...(retried && { replay: retried }),
  }
  const message = render(delivery, parts.attempt ?? 0)
  return parts.trace ? new TracedMessage(message, parts.trace, () => {}) : message
}

/** A context as the core hands it to a sink, with a store that lies in memory. */
export function contextOf(parts: Partial<SinkContext> = {}): SinkContext {
  return {
    name: 'hook',
    cluster: 'test',
    log: silentLog,
    metrics: noMetrics,
    store: memoryStore(),
    userAgent: 'kubeherald/test',
    clock: Date,
    ...parts,
  }
}

const noMetrics: SinkMetrics = { counter: () => () => {}, gauge: () => () => {} }

/** Options as the configuration makes them; throws with the issues when they are wrong. */
export async function optionsOf<C>(type: SinkType<C>, options: object): Promise<C> {
  const checked = await type.config['~standard'].validate(options)
  const { issues, value } = checked as { value: C; issues?: { message: string }[] }
  if (issues) throw new Error(JSON.stringify(issues))
  return value
}

/** Opens a sink as the core does. */
export async function openSink<C, R>(
  type: SinkType<C, R>,
  options: object,
  context: Partial<SinkContext> = {},
) {
  const sink = await type.open(await optionsOf(type as SinkType<C>, options), contextOf(context))
  return Object.assign(sink, { [Symbol.asyncDispose]: () => sink.close() })
}
