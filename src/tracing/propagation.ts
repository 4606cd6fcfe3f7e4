import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  trace,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import type { TraceContext } from '../trace-context.ts'

const w3c = new W3CTraceContextPropagator()

/** A span as the headers that others go on from. */
export function contextOf(span: Span): TraceContext {
  const headers: Record<string, string> = {}
  w3c.inject(trace.setSpan(ROOT_CONTEXT, span), headers, defaultTextMapSetter)
  const { traceparent = '', tracestate } = headers
  return { traceparent, ...(tracestate ? { tracestate } : {}) }
}

/** Where spans go on; undefined when the headers say that it is not sampled, or cannot be read. */
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
