import type { Resource } from '../../model/event.ts'
import type { KubeObject, Stored } from '../objects.ts'

/** How objects are shown: as they are, or their metadata alone. */
export type Form = 'object' | 'metadata'

const METADATA_API = 'meta.k8s.io/v1'

/** The first form of an Accept header that is offered. Throws Refusal (406) when there is none. */
export function formOf(accept: string): Form {
  for (const { type, parameters } of mediaTypes(accept)) {
    if (!isJson(type)) continue
    if (!parameters.has('as')) return 'object'
    const asked = parameters.get('as') ?? ''
    const fits = parameters.get('g') === 'meta.k8s.io' && parameters.get('v') === 'v1'
    if (fits && ['PartialObjectMetadata', 'PartialObjectMetadataList'].includes(asked)) return 'metadata'
  }
  throw notAcceptable('application/json')
}

/** Refuses clients that cannot read aggregated discovery. */
export function requireDiscovery(accept: string): void {
  const offered = mediaTypes(accept).some(
    ({ type, parameters }) =>
      isJson(type) &&
      parameters.get('as') === 'APIGroupDiscoveryList' &&
      parameters.get('g') === 'apidiscovery.k8s.io' &&
      parameters.get('v') === 'v2',
  )
  if (!offered) throw notAcceptable(DISCOVERY_TYPE)
}

/** An object of a watch or of a single read. */
export function show(object: Stored, form: Form): object {
  return form === 'object' ? object : partial(object)
}

/** A list. Items of built-in kinds come without apiVersion and kind, as from a real server. */
export function showList(
  resource: ServedResource,
  form: Form,
  metadata: object,
  objects: readonly Stored[],
): object {
  if (form === 'metadata') {
    const items = objects.map(partial)
    return { kind: 'PartialObjectMetadataList', apiVersion: METADATA_API, metadata, items }
  }
  const apiVersion = apiVersionOf(resource)
  const kind = `${resource.kind}List`
  return resource.custom
    ? { apiVersion, items: objects, kind, metadata }
    : { kind, apiVersion, metadata, items: objects.map(({ apiVersion: _, kind: _k, ...item }) => item) }
}

/** A bookmark's object: nothing but a position. */
export function showPosition(
  resource: ServedResource,
  form: Form,
  metadata: { resourceVersion: string; annotations?: Record<string, string> },
): object {
  return form === 'metadata'
    ? { kind: 'PartialObjectMetadata', apiVersion: METADATA_API, metadata }
    : { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata }
}

function partial({ metadata }: Stored): object {
  return { kind: 'PartialObjectMetadata', apiVersion: METADATA_API, metadata }
}

function isJson(type: string): boolean {
  return ['application/json', 'application/*', '*/*'].includes(type)
}

function mediaTypes(accept: string): { type: string; parameters: Map<string, string> }[] {
  return (accept || '*/*').split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((word) => word.trim())
    return { type, parameters: new Map(parameters.map((it) => it.split('=', 2) as [string, string])) }
  })
}

function notAcceptable(offered: string): Refusal {
  const message = `only the following media types are accepted: ${offered}`
  return new Refusal(406, 'NotAcceptable', message, {})
}

/** A refusal in the API server's own form: metav1.Status. */
interface Status {
  kind: 'Status'
  apiVersion: 'v1'
  metadata: object
  status: 'Failure'
  message: string
  reason: string
  details?: object
  code: number
}

/** What a request cannot get; answered with its status. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly status: Status

  constructor(code: number, reason: string, message: string, details?: object) {
    super(message)
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason,
      ...(details && { details }),
      code,
    }
  }
}

export function badRequest(message: string): Refusal {
  return new Refusal(400, 'BadRequest', message)
}

/** The position is older than what is remembered. */
export function expired(message: string): Refusal {
  return new Refusal(410, 'Expired', message)
}

/** The position is in the future: the client has seen another history (an etcd that was restored). */
export function tooLarge(asked: number, current: number): Refusal {
  return new Refusal(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  })
}

/** A whole number of the query; undefined when it is not given. */
export function parseNumber(text: string | null): number | undefined {
  if (text === null || text === '') return undefined
  if (!/^-?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`)
  return Number(text)
}

/** A resourceVersion of the query; undefined when it is not given. */
export function parsePosition(text: string): number | undefined {
  if (text === '') return undefined
  if (/^\d+$/.test(text)) return Number(text)
  throw badRequest(`invalid resource version: resourceVersion: Invalid value: "${text}"`)
}

/** `true` or `1`. */
export function parseFlag(text: string | null): boolean {
  return text === 'true' || text === '1'
}

/** Whether an object is selected. */
export type Selection = (object: Stored) => boolean

/** By namespace ('' for all) and by `labelSelector` and `fieldSelector`. Throws Refusal for one that cannot be read. */
export function selectionOf(resource: ServedResource, namespace: string, query: URLSearchParams): Selection {
  const byLabels = labelSelection(query.get('labelSelector') ?? '')
  const byFields = fieldSelection(resource, query.get('fieldSelector') ?? '')
  return (object) =>
    (namespace === '' || object.metadata.namespace === namespace) && byLabels(object) && byFields(object)
}

function labelSelection(selector: string): Selection {
  // A comma between parentheses parts values, not requirements.
  const terms = (selector.match(/(?:\([^()]*\)?|[^,(])+/g) ?? []).filter((term) => term.trim() !== '')
  const requirements = terms.map((term) => requirementOf(term.trim()))
  return ({ metadata }) => requirements.every((it) => it(metadata.labels ?? {}))
}

type Requirement = (labels: Readonly<Record<string, string>>) => boolean

const KEY = '([A-Za-z0-9][-A-Za-z0-9_./]*)'
const SET = new RegExp(`^${KEY} +(in|notin) *\\(([^()]*)\\)$`)
const EQUALITY = new RegExp(`^${KEY} *(==?|!=) *([-A-Za-z0-9_.]*)$`)
const PRESENCE = new RegExp(`^(!?) *${KEY}$`)

function requirementOf(term: string): Requirement {
  const [, setKey = '', setOperator, list = ''] = SET.exec(term) ?? []
  const values = list.split(',').map((value) => value.trim())
  if (setOperator === 'in') return (labels) => setKey in labels && values.includes(labels[setKey] ?? '')
  if (setOperator === 'notin') return (labels) => !(setKey in labels && values.includes(labels[setKey] ?? ''))
  const [, equalKey = '', operator, value] = EQUALITY.exec(term) ?? []
  if (operator !== undefined) return (labels) => (labels[equalKey] === value) === (operator !== '!=')
  const [, not, key = ''] = PRESENCE.exec(term) ?? []
  if (not === undefined) throw badRequest(`unable to parse requirement: '${term}'`)
  return (labels) => key in labels !== (not === '!')
}

function fieldSelection(resource: ServedResource, selector: string): Selection {
  const terms = selector
    .split(',')
    .filter(Boolean)
    .map((term) => fieldTerm(resource, term))
  return (object) => terms.every((term) => term(object))
}

function fieldTerm({ namespaced, selectableFields }: ServedResource, term: string): Selection {
  const [, path = '', operator, value] = /^([^!=]+)(!=|==?)(.*)$/.exec(term) ?? []
  if (operator === undefined) throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`)
  const known = ['metadata.name', ...(namespaced ? ['metadata.namespace'] : []), ...selectableFields]
  if (!known.includes(path)) throw badRequest(`field label not supported: ${path}`)
  return (object) => (fieldOf(object, path) === value) === (operator !== '!=')
}

function fieldOf(object: Stored, path: string): string {
  const value = path
    .split('.')
    .reduce<unknown>(
      (it, key) => (typeof it === 'object' && it ? (it as Record<string, unknown>)[key] : undefined),
      object,
    )
  return value === undefined || value === null ? '' : String(value)
}

/** A resource that the demo cluster serves. */
export interface ServedResource extends Resource {
  singular: string
  shortNames: readonly string[]
  /** Defined by a CustomResourceDefinition: its objects' keys are sorted, and list items carry their kind. */
  custom: boolean
  /** Paths of the fields that can be selected by, in addition to metadata.name and metadata.namespace. */
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

export const DISCOVERY_TYPE = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** Aggregated discovery (KEP-3352) of `/api` or `/apis`. */
export function discoveryOf(path: '/api' | '/apis'): object {
  const served = CATALOGUE.filter(({ group }) => (group === '') === (path === '/api'))
  const groups = Map.groupBy(served, ({ group }) => group)
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: [...groups].map(([name, resources]) => groupOf(name, resources)),
  }
}

function groupOf(name: string, resources: readonly ServedResource[]): object {
  const versions = Map.groupBy(resources, ({ version }) => version)
  return {
    metadata: name === '' ? {} : { name },
    versions: [...versions].map(([version, those]) => ({
      version,
      resources: those.map(describe),
      freshness: 'Current',
    })),
  }
}

function describe({ plural, kind, namespaced, singular, shortNames, ...it }: ServedResource): object {
  // A real server names group and version only where they come from a CustomResourceDefinition.
  const { group, version } = it.custom ? it : { group: '', version: '' }
  return {
    resource: plural,
    responseKind: { group, version, kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs: ['get', 'list', 'watch'],
    ...(shortNames.length > 0 && { shortNames }),
  }
}
