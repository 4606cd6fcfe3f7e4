import type { KubeObject } from '../objects.ts'

/** Who writes an object's spec, and who its status. */
const MANAGERS: Record<string, readonly [string, string]> = {
  Pod: ['kube-controller-manager', 'kubelet'],
  Node: ['kubelet', 'kubelet'],
  Deployment: ['argocd-controller', 'kube-controller-manager'],
  ReplicaSet: ['kube-controller-manager', 'kube-controller-manager'],
  Database: ['argocd-controller', 'database-operator'],
}
const OTHERS = ['kube-controller-manager', 'kube-controller-manager'] as const

/** `metadata.managedFields` as the API server keeps it: who set which field, and when. */
export function managedFields(object: KubeObject, createdAt: string, changedAt: string): object[] {
  const { apiVersion, kind, metadata, status, ...rest } = object
  const [writer, reporter] = MANAGERS[kind] ?? OTHERS
  const { labels, annotations, ownerReferences } = metadata
  const content = { metadata: { annotations, labels, ownerReferences }, ...rest }
  const common = { operation: 'Update', apiVersion, fieldsType: 'FieldsV1' }
  const entries = [{ manager: writer, ...common, time: createdAt, fieldsV1: fieldsOf(content) }]
  if (!status) return entries
  const fieldsV1 = fieldsOf({ status })
  return [...entries, { manager: reporter, ...common, time: changedAt, fieldsV1, subresource: 'status' }]
}

/** Keys that tell the items of a list apart (`x-kubernetes-list-map-keys`). */
const LIST_KEYS = ['uid', 'containerPort', 'mountPath', 'ip', 'port', 'type', 'name']

function fieldsOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return {}
  const entries = Array.isArray(value)
    ? value.flatMap((item): [string, unknown][] => {
        const key = LIST_KEYS.find((name) => typeof item === 'object' && item !== null && name in item)
        return key ? [[`k:${JSON.stringify({ [key]: item[key] })}`, { '.': {}, ...fieldsOf(item) }]] : []
      })
    : Object.entries(value).flatMap(([key, field]): [string, unknown][] =>
        field === undefined ? [] : [[`f:${key}`, fieldsOf(field)]],
      )
  return Object.fromEntries(entries)
}
