/** Where a trace goes on, in another process or at a peer: the headers of W3C Trace Context. */
export interface TraceContext {
  /** `00-<trace id>-<parent id>-<flags>`, lower-case hexadecimal. */
  readonly traceparent: string
  readonly tracestate?: string
}
