import type { ChangeType, ClusterEvent, KubeEvent, ObjectRef, Resource } from '../../src/model/event.ts'
import { pathOf } from '../../src/watch/client/discovery.ts'

export const POD: Resource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
export const NODE: Resource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false }
export const EVENT: Resource = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }
export const NEW_EVENT: Resource = { ...EVENT, group: 'events.k8s.io' }
export const DEPLOYMENT: Resource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}
export const DATABASE: Resource = {
  group: 'stable.example.com',
  version: 'v1beta1',
  kind: 'Database',
  plural: 'databases',
  namespaced: true,
}

export interface EventParts {
  resource?: Resource
  type?: ChangeType
  namespace?: string | undefined
  name?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  event?: Partial<KubeEvent>
  synthesized?: boolean
  /** RFC 3339; events are observed on 2026-11-21 at 06:00. */
  created?: string
  namespaceLabels?: Record<string, string>
  namespaceAnnotations?: Record<string, string>
  owners?: readonly ObjectRef[]
  regardingLabels?: Record<string, string>
  regardingAnnotations?: Record<string, string>
  regardingOwners?: readonly ObjectRef[]
  lacksOwners?: boolean
}

/** An event that notes which of its expensive getters were asked. */
export function clusterEvent(parts: EventParts = {}, asked: string[] = []): ClusterEvent {
  const { resource = POD, type = 'ADDED', name = 'web', labels = {}, annotations = {} } = parts
  const namespace = 'namespace' in parts ? parts.namespace : resource.namespaced ? 'shop' : undefined
  const note = <T>(getter: string, value: T): T => {
    asked.push(getter)
    return value
  }
  return {
    id: 'c/u/1/ADDED',
    type,
    cluster: 'test',
    apiVersion: resource.group === '' ? 'v1' : `${resource.group}/${resource.version}`,
    kind: resource.kind,
    path: pathOf(resource, namespace ?? '', name),
    namespace,
    name,
    uid: 'u',
    resourceVersion: '1',
    time: '2026-11-21T06:00:00.000Z',
    synthesized: parts.synthesized ?? false,
    resource,
    created: parts.created,
    namespaceLabels: parts.namespaceLabels,
    namespaceAnnotations: parts.namespaceAnnotations,
    owners: parts.owners,
    regardingLabels: parts.regardingLabels,
    regardingAnnotations: parts.regardingAnnotations,
    regardingOwners: parts.regardingOwners,
    lacksOwners: parts.lacksOwners,
    get labels() {
      return note('labels', labels)
    },
    get annotations() {
      return note('annotations', annotations)
    },
    get event() {
      return note('event', resource.kind === 'Event' ? kubeEvent(parts.event) : undefined)
    },
    get object() {
      return note('object', {})
    },
    get objectJson() {
      return note('objectJson', Buffer.from('{}'))
    },
  }
}

function kubeEvent(parts: Partial<KubeEvent> = {}): KubeEvent {
  return { type: 'Normal', reason: '', message: '', count: 1, regarding: {}, ...parts }
}
