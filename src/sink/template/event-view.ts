import type { EventHeader } from '../../event.ts'

const OF_ALL = ['type', 'kind', 'apiVersion', 'namespace', 'name', 'uid', 'time', 'cluster', 'synthesized']
const OF_EVENTS = ['eventType', 'reason', 'message', 'count', 'regarding', 'firstSeen', 'lastSeen']

/** What `event` has in templates. */
export const EVENT_FIELDS = [...OF_ALL, 'owner', 'manager', ...OF_EVENTS, 'reportingComponent']

/** `event` by the names that it has in `if`; the owner of an Event is that of what it is about. */
export function eventView(header: EventHeader): object {
  const { event, synthesized = false, owner, ...fields } = header
  const of = { ...fields, synthesized, owner }
  if (!event) return of
  const { type: eventType, regarding, ...said } = event
  return { ...of, ...said, eventType, regarding: { ...regarding, owner } }
}

/** What `if` can ask and messages do not carry. */
export function isNotCarried(path: readonly string[]): boolean {
  return /^(namespaceLabels|regarding\.labels)\b/.test(path.join('.'))
}
