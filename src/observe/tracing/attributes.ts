import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  trace,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import type { TraceContext } from '../../model/delivery.ts'
import type { KubeEventView } from '../../model/event.ts'

/** The parts of a change, or of its header, that spans may have: names, never contents of the object. */
interface Described {
  readonly id: string
  readonly type: string
  readonly cluster: string
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string | undefined
  readonly name: string
  readonly uid: string
  readonly synthesized?: boolean | undefined
  readonly event?: KubeEventView | undefined
}

type SpanAttributes = Record<string, string | number | boolean | string[]>

/** `<group>/<kind>` → how OpenTelemetry's conventions call it in `k8s.<what>.name`. */
const CONVENTIONAL: Readonly<Record<string, string>> = {
  '/Pod': 'pod',
  '/Node': 'node',
  '/Service': 'service',
  '/ReplicationController': 'replicationcontroller',
  '/ResourceQuota': 'resourcequota',
  '/PersistentVolume': 'persistentvolume',
  '/PersistentVolumeClaim': 'persistentvolumeclaim',
  'apps/Deployment': 'deployment',
  'apps/ReplicaSet': 'replicaset',
  'apps/StatefulSet': 'statefulset',
  'apps/DaemonSet': 'daemonset',
  'batch/Job': 'job',
  'batch/CronJob': 'cronjob',
  'autoscaling/HorizontalPodAutoscaler': 'hpa',
}

/** The object of a change, by OpenTelemetry's names where it has some, so that it is found with the object's own telemetry. */
export function attributesOf(change: Described): SpanAttributes {
  const { event } = change
  const about = event ? event.regarding : change
  return bounded({
    'k8s.cluster.name': change.cluster,
    ...(change.namespace !== undefined && { 'k8s.namespace.name': change.namespace }),
    ...conventional(about),
    'kubeherald.change.id': change.id,
    'kubeherald.change.type': change.type,
    'kubeherald.object.api_version': change.apiVersion,
    'kubeherald.object.kind': change.kind,
    'kubeherald.object.name': change.name,
    ...(change.synthesized && { 'kubeherald.change.synthesized': true }),
    ...(event && {
      'kubeherald.event.type': event.type,
      'kubeherald.event.reason': event.reason,
      ...(about.kind !== undefined && { 'kubeherald.event.regarding.kind': about.kind }),
      ...(about.name !== undefined && { 'kubeherald.event.regarding.name': about.name }),
    }),
  })
}

/** Longer than any name of an object. */
const MAX_TEXT = 256

/** The API server bounds neither the reason of an Event nor what it regards, and each span would hold a megabyte of them. */
function bounded(attributes: SpanAttributes): SpanAttributes {
  const cut = (value: SpanAttributes[string]) =>
    typeof value === 'string' && value.length > MAX_TEXT ? value.slice(0, MAX_TEXT).toWellFormed() : value
  return Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, cut(value)]))
}

interface Reference {
  readonly apiVersion?: string | undefined
  readonly kind?: string | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly uid?: string | undefined
}

function conventional({ apiVersion = '', kind = '', name, uid }: Reference): SpanAttributes {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  if (group === '' && kind === 'Namespace' && name) return { 'k8s.namespace.name': name }
  const what = CONVENTIONAL[`${group}/${kind}`]
  if (what === undefined) return {}
  return { ...(name && { [`k8s.${what}.name`]: name }), ...(uid && { [`k8s.${what}.uid`]: uid }) }
}

/** A span of the queue, by the conventions for messaging: the sink is the destination, its lane a partition. */
export function messagingAttributes(
  operation: 'send' | 'process',
  sink: string,
  id?: string,
): SpanAttributes {
  return {
    'messaging.system.name': 'redis',
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
    'messaging.destination.name': sink,
    ...(id !== undefined && { 'messaging.message.id': id }),
  }
}

/** A span of a transaction in Redis. */
export function redisAttributes(operation: string): SpanAttributes {
  return { 'db.system.name': 'redis', 'db.operation.name': operation }
}

/** As many as the SDK keeps by default. */
const MAX_LINKS = 128

/** Links the span of a batch with the span of each member, in both directions, so that every trace leads to the batch. */
export function linkBatch(batch: Span, members: readonly Span[]): void {
  if (members.length < 2) return
  const context = batch.spanContext()
  for (const member of members) member.addLink({ context })
  for (const member of members.slice(0, MAX_LINKS)) batch.addLink({ context: member.spanContext() })
}

const w3c = new W3CTraceContextPropagator()

/** A span as the headers that others go on from. */
export function contextOf(span: Span): TraceContext {
  const headers: Record<string, string> = {}
  w3c.inject(trace.setSpan(ROOT_CONTEXT, span), headers, defaultTextMapSetter)
  const { traceparent = '', tracestate } = headers
  return { traceparent, ...(tracestate ? { tracestate } : {}) }
}

/** The parent of further spans; undefined when the headers are not sampled, or cannot be read. */
export function remoteContext(headers: TraceContext): Context | undefined {
  const context = w3c.extract(ROOT_CONTEXT, headers, defaultTextMapGetter)
  return isSampled(context) ? context : undefined
}

/** Children of a span begin here. */
export function inside(span: Span): Context {
  return trace.setSpan(ROOT_CONTEXT, span)
}

function isSampled(context: Context): boolean {
  return ((trace.getSpanContext(context)?.traceFlags ?? 0) & 1) === 1
}

/** Milliseconds since 1970 with the resolution of `performance.now`. */
export interface Stopwatch {
  readonly startedMs: number
  nowMs(): number
}

/** Starts at the wall clock's time and continues monotonically. */
export function startStopwatch(): Stopwatch {
  const startedMs = Date.now()
  const started = performance.now()
  return { startedMs, nowMs: () => startedMs + (performance.now() - started) }
}
