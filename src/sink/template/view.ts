import type { EventHeader } from '../../model/event.ts'
import type { Subject } from '../message.ts'

const OF_ALL = ['type', 'kind', 'apiVersion', 'namespace', 'name', 'uid', 'time', 'cluster', 'synthesized']
const OF_EVENTS = ['eventType', 'reason', 'message', 'count', 'regarding', 'firstSeen', 'lastSeen']

/** The properties of `event` in templates. */
const RELATED = ['owner', 'namespaceLabels', 'namespaceAnnotations']
export const EVENT_FIELDS = [...OF_ALL, ...RELATED, 'manager', ...OF_EVENTS, 'reportingComponent']

/** The variables of a template. */
export type View = Readonly<Record<string, unknown>>

/** Returns the variables of a template: each is computed on first access; nothing is inherited. */
export function viewOf(subject: Subject): View {
  const { id, rule, event, notice, suppressed } = subject
  let shownEvent: object | undefined
  let shownMessage: object | undefined
  return {
    __proto__: null as never,
    id,
    rule,
    type: event.type,
    kind: event.kind,
    apiVersion: event.apiVersion,
    namespace: event.namespace,
    name: event.name,
    uid: event.uid,
    cluster: event.cluster,
    time: event.time,
    synthesized: event.synthesized === true,
    replayed: subject.replayed === true,
    truncated: subject.truncated === true,
    manager: event.manager,
    notice: notice?.kind,
    digest: notice?.kind === 'digest' ? { ...notice, by: Object.fromEntries(notice.by) } : undefined,
    resolved: notice?.kind === 'resolved' ? notice : undefined,
    suppressed,
    logs: subject.logs,
    get event() {
      shownEvent ??= eventView(event)
      return shownEvent
    },
    get object() {
      return subject.object
    },
    get labels() {
      return mapOf(metadataOf(subject)['labels'])
    },
    get annotations() {
      return mapOf(metadataOf(subject)['annotations'])
    },
    namespaceLabels: event.related?.namespaceLabels ?? {},
    namespaceAnnotations: event.related?.namespaceAnnotations ?? {},
    get owner() {
      return ownerOf(metadataOf(subject)['ownerReferences'])
    },
    get about() {
      return subject.summary.about
    },
    get changes() {
      return subject.summary.changes
    },
    get message() {
      shownMessage ??= { ...subject.summary, labels: subject.labels }
      return shownMessage
    },
  }
}

/** The names that templates know, with the names in them where these are few. */
export const NAMES: Readonly<Record<string, readonly string[] | undefined>> = {
  object: undefined,
  event: EVENT_FIELDS,
  type: [],
  kind: [],
  apiVersion: [],
  namespace: [],
  name: [],
  uid: [],
  cluster: [],
  rule: [],
  id: [],
  time: [],
  synthesized: [],
  replayed: [],
  truncated: [],
  manager: [],
  labels: undefined,
  annotations: undefined,
  namespaceLabels: undefined,
  namespaceAnnotations: undefined,
  owner: ['kind', 'name'],
  about: ['kind', 'namespace', 'name'],
  changes: undefined,
  message: ['title', 'text', 'severity', 'quote', 'command', 'fields', 'labels'],
  notice: [],
  digest: ['count', 'by', 'from', 'to', 'items'],
  resolved: ['since', 'at', 'why', 'title'],
  suppressed: ['count', 'since'],
  logs: ['container', 'previous', 'text', 'error'],
}

type Data = Readonly<Record<string, unknown>>

function metadataOf({ object }: Subject): Data {
  return mapOf(object['metadata'])
}

function mapOf(value: unknown): Data {
  return typeof value === 'object' && value !== null ? (value as Data) : {}
}

/** The first owner reference with `controller: true`. */
function ownerOf(references: unknown): Data | undefined {
  if (!Array.isArray(references)) return undefined
  const owner = references.map(mapOf).find((it) => it['controller'] === true)
  return owner && { kind: owner['kind'], name: owner['name'] }
}

/** `event` with the names that it has in `if`; the owner of an Event is that of the regarded object. */
function eventView(header: EventHeader): object {
  const { event, synthesized = false, owner, related, ...fields } = header
  const { namespaceLabels = {}, namespaceAnnotations = {} } = related ?? {}
  const of = { ...fields, synthesized, owner, namespaceLabels, namespaceAnnotations }
  if (!event) return of
  const { type: eventType, regarding, ...said } = event
  const { regardingLabels: labels = {}, regardingAnnotations: annotations = {} } = related ?? {}
  return { ...of, ...said, eventType, regarding: { ...regarding, owner, labels, annotations } }
}

/**
 * Returns how many names lead to a map of related metadata, of which notifications carry those keys that templates name; 0 if the
 * path leads to none.
 */
export function relatedDepth(path: readonly string[]): number {
  const found = /^(event\.)?namespace(?:Labels|Annotations)(?:\.|$)/.exec(path.join('.'))
  if (found) return found[1] ? 2 : 1
  return /^event\.regarding\.(labels|annotations)(\.|$)/.test(path.join('.')) ? 3 : 0
}
