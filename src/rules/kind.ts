import type { EventHeader, ObjectRef } from '../model/event.ts'
import { type Compiled, compiled, type Fault, faulty, under } from './fault.ts'
import {
  expressionHint,
  isJoined,
  listHint,
  listOf,
  type Pattern,
  type Patterns,
  parsePattern,
  parsePatterns,
} from './pattern.ts'

/** The names of a kind, of a resource or of a reference to an object. */
export interface KindNames {
  group: string
  version: string
  kind: string
  plural: string
}

/** The spelling of a kind: `Deployment`, `deployments.apps`, `apps/v1/Deployment`. */
export interface Spelling {
  /** Kind, plural or short name, in lower case. */
  word: string
  /** The group or version: `apps`, `v1.apps`, `v1`, or '' for the core group; undefined if there is none. */
  qualifier?: string
}

export type KindTest = (names: KindNames) => boolean

/** Compiles the `kind` of a rule: exact names in any spelling, globs and regular expressions. */
export function compileKinds(patterns: Patterns): Compiled<KindTest> {
  const parsed = parsePatterns(patterns)
  const faults = listOf(patterns).flatMap((text, index) =>
    under(typeof patterns === 'string' ? [] : [index], spellingFaults(text)),
  )
  if (!parsed.ok) return { ok: false, faults: [...parsed.faults, ...faults] }
  if (faults.length > 0) return { ok: false, faults }
  const negative = parsed.value.filter((it) => it.negated).map(kindTest)
  const positive = parsed.value.filter((it) => !it.negated).map(kindTest)
  return compiled(
    (names) =>
      !negative.some((test) => test(names)) &&
      (positive.length === 0 || positive.some((test) => test(names))),
  )
}

/** Parses a spelling; returns undefined if it is none. */
export function parseSpelling(text: string): Spelling | undefined {
  if (!/^[A-Za-z0-9][-A-Za-z0-9./]*$/.test(text)) return undefined
  const lower = text.toLowerCase()
  const parts = lower.split('/')
  if (parts.length > 3 || parts.includes('')) return undefined
  if (parts.length === 3) return { word: parts[2]!, qualifier: withoutCore(`${parts[1]}.${parts[0]}`) }
  if (parts.length === 2) return { word: parts[1]!, qualifier: withoutCore(parts[0]!) }
  const dot = lower.indexOf('.')
  if (dot === -1) return { word: lower }
  return dot === 0 || dot === lower.length - 1
    ? undefined
    : { word: lower.slice(0, dot), qualifier: withoutCore(lower.slice(dot + 1)) }
}

/** Returns the versions that the `kind` of a rule names with their groups, such as `v1` of `apps/v1/Deployment`; not what it excludes. */
export function versionsIn(patterns: Patterns): { version: string; group: string }[] {
  return listOf(patterns).flatMap((text) => {
    const pattern = parsePattern(text)
    const isNamed = pattern.ok && pattern.value.form === 'literal' && !pattern.value.negated
    const { qualifier = '' } = (isNamed && parseSpelling(pattern.value.text)) || {}
    const [version = '', ...group] = qualifier.split('.')
    return group.length > 0 ? [{ version, group: group.join('.') }] : []
  })
}

/** The documentation of Kubernetes writes `core/v1` for the group without a name. */
function withoutCore(qualifier: string): string {
  return /^(?:v\d+\.)?core$/.test(qualifier) ? qualifier.replace(/\.?core$/, '') : qualifier
}

/** Whether the kind is the Event of core/v1 or events.k8s.io. */
export function isEventKind({ kind, group }: Pick<KindNames, 'kind' | 'group'>): boolean {
  return kind === 'Event' && (group === '' || group === 'events.k8s.io')
}

/** A kind of every cluster, with its short names. */
export interface BuiltInKind {
  kind: string
  plural: string
  group: string
  namespaced: boolean
  shortNames: readonly string[]
}

/** `kubectl api-resources` of Kubernetes 1.36, without what only answers requests: kind plural [short names]. */
const TABLE = {
  namespaced: {
    '': `ConfigMap configmaps cm,Endpoints endpoints ep,Event events ev,LimitRange limitranges limits,
      PersistentVolumeClaim persistentvolumeclaims pvc,Pod pods po,PodTemplate podtemplates,
      ReplicationController replicationcontrollers rc,ResourceQuota resourcequotas quota,Secret secrets,
      Service services svc,ServiceAccount serviceaccounts sa`,
    apps: `ControllerRevision controllerrevisions,DaemonSet daemonsets ds,Deployment deployments deploy,
      ReplicaSet replicasets rs,StatefulSet statefulsets sts`,
    autoscaling: 'HorizontalPodAutoscaler horizontalpodautoscalers hpa',
    batch: 'CronJob cronjobs cj,Job jobs',
    'coordination.k8s.io': 'Lease leases',
    'discovery.k8s.io': 'EndpointSlice endpointslices',
    'events.k8s.io': 'Event events ev',
    'networking.k8s.io': 'Ingress ingresses ing,NetworkPolicy networkpolicies netpol',
    policy: 'PodDisruptionBudget poddisruptionbudgets pdb',
    'rbac.authorization.k8s.io': 'Role roles,RoleBinding rolebindings',
    'resource.k8s.io': 'ResourceClaim resourceclaims,ResourceClaimTemplate resourceclaimtemplates',
    'storage.k8s.io': 'CSIStorageCapacity csistoragecapacities',
  },
  cluster: {
    '': 'Namespace namespaces ns,Node nodes no,PersistentVolume persistentvolumes pv',
    'admissionregistration.k8s.io': `MutatingWebhookConfiguration mutatingwebhookconfigurations,
      ValidatingAdmissionPolicy validatingadmissionpolicies,
      ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings,
      ValidatingWebhookConfiguration validatingwebhookconfigurations`,
    'apiextensions.k8s.io': 'CustomResourceDefinition customresourcedefinitions crd crds',
    'apiregistration.k8s.io': 'APIService apiservices',
    'certificates.k8s.io': 'CertificateSigningRequest certificatesigningrequests csr',
    'flowcontrol.apiserver.k8s.io': `FlowSchema flowschemas,
      PriorityLevelConfiguration prioritylevelconfigurations`,
    'networking.k8s.io': 'IngressClass ingressclasses,IPAddress ipaddresses ip,ServiceCIDR servicecidrs',
    'node.k8s.io': 'RuntimeClass runtimeclasses',
    'rbac.authorization.k8s.io': 'ClusterRole clusterroles,ClusterRoleBinding clusterrolebindings',
    'resource.k8s.io': 'DeviceClass deviceclasses,ResourceSlice resourceslices',
    'scheduling.k8s.io': 'PriorityClass priorityclasses pc',
    'storage.k8s.io': `CSIDriver csidrivers,CSINode csinodes,StorageClass storageclasses sc,
      VolumeAttachment volumeattachments,VolumeAttributesClass volumeattributesclasses vac`,
  },
} as const

export const builtInKinds: readonly BuiltInKind[] = [
  ...rowsOf(TABLE.namespaced, true),
  ...rowsOf(TABLE.cluster, false),
]

function rowsOf(groups: Readonly<Record<string, string>>, namespaced: boolean): BuiltInKind[] {
  return Object.entries(groups).flatMap(([group, rows]) =>
    rows.split(',').map((row) => {
      const [kind = '', plural = '', ...shortNames] = row.trim().split(/\s+/)
      return { kind, plural, group, namespaced, shortNames }
    }),
  )
}

const pluralOfBuiltIn = new Map(builtInKinds.map(({ kind, plural }) => [kind.toLowerCase(), plural]))

/** Returns the usual plural of a kind, for references without one. */
export function pluralOf(kind: string): string {
  const lower = kind.toLowerCase()
  const builtIn = pluralOfBuiltIn.get(lower)
  if (builtIn !== undefined) return builtIn
  if (/[^aeiou]y$/.test(lower)) return `${lower.slice(0, -1)}ies`
  return /(s|x|z|ch|sh)$/.test(lower) ? `${lower}es` : `${lower}s`
}

function spellingFaults(text: string): Fault[] {
  const parsed = parsePattern(text)
  if (!parsed.ok) return []
  const pattern = parsed.value
  const joined = isJoined(pattern)
  if (!joined && (pattern.form !== 'literal' || parseSpelling(pattern.text))) return []
  const spellings = 'write it as Deployment, deployments.apps or apps/v1/Deployment'
  const fault = faulty(pattern.text === '' ? 'is empty: name a kind' : `"${pattern.text}" is not a kind`, {
    hint: joined ? listHint(text) : (expressionHint(text) ?? spellings),
    offset: text.startsWith('!') ? 1 : 0,
  })
  return fault.faults
}

/** Returns the names of a reference's kind. */
export function kindOf({ apiVersion = '', kind = '' }: ObjectRef): KindNames {
  const slash = apiVersion.indexOf('/')
  const group = slash === -1 ? '' : apiVersion.slice(0, slash)
  return { group, version: apiVersion.slice(slash + 1), kind, plural: pluralOf(kind) }
}

/** Returns the names of an event's kind. The path has the plural of its API, which no kind implies. */
export function kindOfEvent({
  apiVersion,
  kind,
  path,
}: Pick<EventHeader, 'apiVersion' | 'kind' | 'path'>): KindNames {
  const names = kindOf({ apiVersion, kind })
  return { ...names, plural: path.split('/').at(-2) ?? names.plural }
}

/** Whether the text is the kind, plural or short name of a built-in kind. */
export function isKnownWord(text: string): boolean {
  const word = text.toLowerCase()
  return builtInKinds.some(
    ({ kind, plural, shortNames }) =>
      kind.toLowerCase() === word || plural === word || shortNames.includes(word),
  )
}

/** Returns the test of one pattern, without its `!`. */
export function kindTest(pattern: Pattern): KindTest {
  if (pattern.form === 'literal') return spellingTest(parseSpelling(pattern.text) as Spelling)
  if (pattern.form === 'regex') return (names) => namesOf(names).some((name) => pattern.test(name))
  const glob = parsePattern(pattern.text.toLowerCase())
  if (!glob.ok) throw new Error('the glob is not a valid pattern in lower case')
  return (names) => namesOf(names).some((name) => glob.value.test(name.toLowerCase()))
}

function namesOf({ kind, plural, group }: KindNames): string[] {
  return group === '' ? [kind, plural] : [kind, plural, `${plural}.${group}`]
}

function spellingTest({ word, qualifier }: Spelling): KindTest {
  const short = builtInKinds.filter(({ shortNames }) => shortNames.includes(word))
  return (names) => {
    if (!isQualifiedBy(names, qualifier)) return false
    if (word === names.kind.toLowerCase() || word === names.plural) return true
    return short.some(({ kind, group }) => kind === names.kind && group === names.group)
  }
}

/** `apps`, `v1.apps`, and for the core group `v1`. */
function isQualifiedBy(names: KindNames, qualifier: string | undefined): boolean {
  if (qualifier === undefined || qualifier === names.group) return true
  if (isEventKind(names)) return /^(v1(beta1)?|(v1(beta1)?\.)?events\.k8s\.io)?$/.test(qualifier)
  const full = names.group === '' ? names.version : `${names.version}.${names.group}`
  return qualifier === full
}

const TEMPLATE = 'spec.template.'

/** The path of the pod template, by the names of its kind. */
const TEMPLATES: Readonly<Record<string, string>> = {
  pod: '',
  pods: '',
  po: '',
  deployment: TEMPLATE,
  deployments: TEMPLATE,
  deploy: TEMPLATE,
  statefulset: TEMPLATE,
  statefulsets: TEMPLATE,
  sts: TEMPLATE,
  daemonset: TEMPLATE,
  daemonsets: TEMPLATE,
  ds: TEMPLATE,
  replicaset: TEMPLATE,
  replicasets: TEMPLATE,
  rs: TEMPLATE,
  job: TEMPLATE,
  jobs: TEMPLATE,
  cronjob: `spec.jobTemplate.${TEMPLATE}`,
  cronjobs: `spec.jobTemplate.${TEMPLATE}`,
}

/** Returns `spec.template.` for `Deployment` and an empty path for `Pod`; undefined for kinds without known pods. */
export function templateOf(kind: string): string | undefined {
  const word = parseSpelling(kind)?.word
  return word !== undefined && Object.hasOwn(TEMPLATES, word) ? TEMPLATES[word] : undefined
}
