import type { Resource } from '../../event.ts'
import type { KubeObject } from '../objects.ts'

/** A resource that the demo cluster serves. */
export interface ServedResource extends Resource {
  singular: string
  shortNames: readonly string[]
  /** Defined by a CustomResourceDefinition: its objects' keys are sorted, and list items carry their kind. */
  custom: boolean
  /** Paths of the fields that can be selected by, beside metadata.name and metadata.namespace. */
  selectableFields: readonly string[]
}

const BUILT_IN = { custom: false, selectableFields: [] }
const CORE = { ...BUILT_IN, group: '', version: 'v1' }
const APPS = { ...BUILT_IN, group: 'apps', version: 'v1', namespaced: true }
const BATCH = { ...BUILT_IN, group: 'batch', version: 'v1', namespaced: true }

const EVENT_FIELDS = ['reason', 'type', 'involvedObject.kind', 'involvedObject.namespace'].concat([
  'involvedObject.name',
  'involvedObject.uid',
  'reportingComponent',
  'source',
])

export const CATALOGUE: readonly ServedResource[] = [
  resource(CORE, 'ConfigMap', 'cm'),
  { ...resource(CORE, 'Event', 'ev'), selectableFields: EVENT_FIELDS },
  { ...resource(CORE, 'Namespace', 'ns'), namespaced: false, selectableFields: ['status.phase'] },
  { ...resource(CORE, 'Node', 'no'), namespaced: false, selectableFields: ['spec.unschedulable'] },
  { ...resource(CORE, 'Pod', 'po'), selectableFields: ['spec.nodeName', 'status.phase'] },
  { ...resource(CORE, 'Secret'), selectableFields: ['type'] },
  resource(CORE, 'Service', 'svc'),
  resource(APPS, 'DaemonSet', 'ds'),
  resource(APPS, 'Deployment', 'deploy'),
  resource(APPS, 'ReplicaSet', 'rs'),
  resource(APPS, 'StatefulSet', 'sts'),
  resource(BATCH, 'CronJob', 'cj'),
  { ...resource(BATCH, 'Job'), selectableFields: ['status.successful'] },
  {
    ...resource(
      { ...BUILT_IN, group: 'apiextensions.k8s.io', version: 'v1' },
      'CustomResourceDefinition',
      'crd',
    ),
    namespaced: false,
  },
  {
    ...resource({ ...BUILT_IN, group: 'stable.example.com', version: 'v1' }, 'Database', 'db'),
    custom: true,
  },
]

function resource(
  group: Omit<ServedResource, 'kind' | 'plural' | 'singular' | 'shortNames' | 'namespaced'>,
  kind: string,
  ...shortNames: string[]
): ServedResource {
  const singular = kind.toLowerCase()
  return { ...group, kind, plural: `${singular}s`, singular, shortNames, namespaced: true }
}

/** `apps/v1`, or `v1` in the core group. */
export function apiVersionOf({ group, version }: Pick<Resource, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`
}

/** The resource of an object's kind. Throws for a kind that the demo cluster does not serve. */
export function resourceOf({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): ServedResource {
  const found = CATALOGUE.find((it) => it.kind === kind && apiVersionOf(it) === apiVersion)
  if (!found) throw new Error(`the demo cluster serves no ${apiVersion} ${kind}`)
  return found
}
