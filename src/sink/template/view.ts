import type { Subject } from '../message.ts'
import { EVENT_FIELDS, eventView } from './event-view.ts'

/** What templates see, made anew for each rendering: each part when it is looked at; nothing is inherited. */
export function viewOf(subject: Subject): object {
  const { id, rule, event, notice, heldBack } = subject
  return {
    __proto__: null,
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
    manager: event.manager,
    notice: notice?.kind,
    digest: notice?.kind === 'digest' ? { ...notice, by: Object.fromEntries(notice.by) } : undefined,
    resolved: notice?.kind === 'resolved' ? notice : undefined,
    heldBack,
    get event() {
      return eventView(event)
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
    get owner() {
      return ownerOf(metadataOf(subject)['ownerReferences'])
    },
    get about() {
      return subject.words.about
    },
    get changes() {
      return subject.words.changes
    },
    get message() {
      return { ...subject.words, labels: subject.labels }
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
  manager: [],
  labels: undefined,
  annotations: undefined,
  owner: ['kind', 'name'],
  about: ['kind', 'namespace', 'name'],
  changes: undefined,
  message: ['title', 'text', 'severity', 'quote', 'command', 'fields', 'labels'],
  notice: [],
  digest: ['count', 'by', 'from', 'to', 'items'],
  resolved: ['since', 'at', 'why'],
  heldBack: ['count', 'since'],
}

type Data = Readonly<Record<string, unknown>>

function metadataOf({ object }: Subject): Data {
  return mapOf(object['metadata'])
}

function mapOf(value: unknown): Data {
  return typeof value === 'object' && value !== null ? (value as Data) : {}
}

/** The controller, as the first owner reference that says so. */
function ownerOf(references: unknown): Data | undefined {
  if (!Array.isArray(references)) return undefined
  const owner = references.map(mapOf).find((it) => it['controller'] === true)
  return owner && { kind: owner['kind'], name: owner['name'] }
}
