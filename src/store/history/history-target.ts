import type { HistoryRecord } from '../../model/history-record.ts'
import { nameOf, nameOfUid } from './history-format.ts'

/** What is looked for in the past: one event, or all of an object. */
export interface HistoryTarget {
  /** The event's id. */
  id?: string
  /** As Redis finds it in the history: hashes, one for each spelling of a kind. */
  names: readonly Buffer[]
  /** Whether an object is the one that was asked for. */
  isObject(object: { kind: string; namespace?: string | undefined; name: string; uid?: string }): boolean
}

const EVENT_ID = /^([^/\s]+)\/([^/\s]+)\/([^/\s]+)\/(ADDED|MODIFIED|DELETED)(\/.*)?$/
const UID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The short names of Kubernetes' own kinds; others are asked of no cluster. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  po: 'pod',
  deploy: 'deployment',
  rs: 'replicaset',
  sts: 'statefulset',
  ds: 'daemonset',
  cj: 'cronjob',
  svc: 'service',
  ing: 'ingress',
  no: 'node',
  ns: 'namespace',
  cm: 'configmap',
  sa: 'serviceaccount',
  pvc: 'persistentvolumeclaim',
  pv: 'persistentvolume',
  ev: 'event',
  hpa: 'horizontalpodautoscaler',
  pdb: 'poddisruptionbudget',
  netpol: 'networkpolicy',
  quota: 'resourcequota',
  sc: 'storageclass',
  crd: 'customresourcedefinition',
}

/** Reads `kind/namespace/name`, `kind/name`, an event's id or an object's uid; undefined for anything else. */
export function historyTarget(text: string): HistoryTarget | undefined {
  const [, , uid] = EVENT_ID.exec(text) ?? []
  if (uid !== undefined)
    return { id: text, names: [nameOfUid(uid)], isObject: (object) => object.uid === uid }
  if (UID.test(text)) return { names: [nameOfUid(text)], isObject: ({ uid }) => uid === text }
  const parts = text.split('/')
  const [kind = '', ...place] = parts
  if (place.length === 0 || place.length > 2 || parts.includes('')) return undefined
  const name = place.at(-1) as string
  return objectTarget(kind, place.length === 2 ? place[0] : undefined, name)
}

/** All of one object; several spellings of its kind. */
export function objectTarget(kind: string, namespace: string | undefined, name: string): HistoryTarget {
  const kinds = kindsOf(kind)
  return {
    names: kinds.map((it) => nameOf(it, namespace, name)),
    isObject: (object) =>
      object.name === name &&
      (object.namespace ?? '') === (namespace ?? '') &&
      kinds.includes(object.kind.toLowerCase()),
  }
}

/** The kinds that a text may name: itself, its singular, a short name. */
export function kindsOf(text: string): string[] {
  const [lower = ''] = text.toLowerCase().split('.')
  const singular = [lower.replace(/ies$/, 'y'), lower.replace(/es$/, ''), lower.replace(/s$/, '')]
  const short = Object.hasOwn(SHORT_NAMES, lower) ? [SHORT_NAMES[lower] as string] : []
  return [...new Set([lower, ...singular, ...short])]
}

/** The parts of a delivery that identify what it is about. */
export interface Sent {
  event: {
    id: string
    kind: string
    namespace?: string
    name: string
    uid?: string
    event?: { regarding: { kind?: string; namespace?: string; name?: string; uid?: string } }
  }
  sink: string
  rule: string
}

/** Whether an event is the one, or is about the object, that is looked for. An Event is about the object that it regards, too. */
export function isAboutTarget({ id, isObject }: HistoryTarget, event: Sent['event']): boolean {
  if (id !== undefined) return event.id === id || event.id.startsWith(`${id}/`)
  const { kind = '', name = '', ...regarding } = event.event?.regarding ?? {}
  return isObject(event) || isObject({ kind, name, ...regarding })
}

/** Whether a record is about the object that is looked for, or of an event, about its object. */
export function isRecordOf({ isObject }: HistoryTarget, { event, notice }: HistoryRecord): boolean {
  const uid = event.id.split('/')[1] ?? ''
  if (isObject({ ...(event.regarding ?? event), uid })) return true
  if (notice?.kind !== 'digest') return false
  return notice.objects.some((object) => {
    const [kind = '', namespace = '', name = ''] = object.split('/')
    return isObject({ kind, namespace, name })
  })
}

/** Whether a record or delivery is of an event: a digest or resolve notification has the id of its event, and more behind it. */
export function isOf(id: string, { event }: { event: Pick<HistoryRecord['event'], 'id'> }): boolean {
  return event.id === id || event.id.startsWith(`${id}/`)
}

/** Returns the id of the event behind that of a digest or resolve notification. */
export function eventIdOf(id: string): string {
  return id.split('/').slice(0, 4).join('/')
}
