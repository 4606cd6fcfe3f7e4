import type { Span } from '@opentelemetry/api'

/** As many as the SDK keeps by default. */
const MAX_LINKS = 128

/**
 * Links a span that did one thing for many with each of them, both ways: whoever looks at one trace finds the batch, and from
 * there the others.
 */
export function linkBatch(batch: Span, members: readonly Span[]): void {
  if (members.length < 2) return
  const context = batch.spanContext()
  for (const member of members) member.addLink({ context })
  for (const member of members.slice(0, MAX_LINKS)) batch.addLink({ context: member.spanContext() })
}
