import { nameOf, nameOfUid } from '../../store/history/history-format.ts'
import { UsageError } from '../usage-error.ts'

/** What a command about the past was asked for: one event, or all of an object. */
export interface HistoryTarget {
  /** The event's id. */
  id?: string
  /** As the history finds it; several spellings of a kind. */
  names: readonly Buffer[]
  /** Whether an object is the one that was asked for. */
  isObject(object: { kind: string; namespace?: string | undefined; name: string; uid?: string }): boolean
}

const EVENT_ID = /^([^/\s]+)\/([^/\s]+)\/([^/\s]+)\/(ADDED|MODIFIED|DELETED)(\/.*)?$/
const UID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The short names of Kubernetes' own kinds; others are asked of no cluster. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  ...{ po: 'pod', deploy: 'deployment', rs: 'replicaset', sts: 'statefulset', ds: 'daemonset' },
  ...{ cj: 'cronjob', svc: 'service', ing: 'ingress', no: 'node', ns: 'namespace', cm: 'configmap' },
  ...{ sa: 'serviceaccount', pvc: 'persistentvolumeclaim', pv: 'persistentvolume', ev: 'event' },
  ...{ hpa: 'horizontalpodautoscaler', pdb: 'poddisruptionbudget', netpol: 'networkpolicy' },
  ...{ quota: 'resourcequota', sc: 'storageclass', crd: 'customresourcedefinition' },
}

/** Reads `kind/namespace/name`, `kind/name`, an event's id or an object's uid. Throws a UsageError for anything else. */
export function historyTarget(text: string): HistoryTarget {
  const [, , uid] = EVENT_ID.exec(text) ?? []
  if (uid !== undefined)
    return { id: text, names: [nameOfUid(uid)], isObject: (object) => object.uid === uid }
  if (UID.test(text)) return { names: [nameOfUid(text)], isObject: ({ uid }) => uid === text }
  const parts = text.split('/')
  const [kind = '', ...place] = parts
  if (place.length === 0 || place.length > 2 || parts.includes(''))
    throw new UsageError(
      `"${text}" is no object: write kind/namespace/name or kind/name, such as deploy/shop/web or node/worker-1, or the id of an event`,
    )
  const kinds = kindsOf(kind)
  const name = place.at(-1) as string
  const namespace = place.length === 2 ? place[0] : undefined
  return {
    names: kinds.map((it) => nameOf(it, namespace, name)),
    isObject: (object) =>
      object.name === name &&
      (object.namespace ?? '') === (namespace ?? '') &&
      kinds.includes(object.kind.toLowerCase()),
  }
}

/** The kinds that a word may mean: itself, the singular of it, a short name. */
function kindsOf(word: string): string[] {
  const [lower = ''] = word.toLowerCase().split('.')
  const singular = [lower.replace(/ies$/, 'y'), lower.replace(/es$/, ''), lower.replace(/s$/, '')]
  const short = Object.hasOwn(SHORT_NAMES, lower) ? [SHORT_NAMES[lower] as string] : []
  return [...new Set([lower, ...singular, ...short])]
}
