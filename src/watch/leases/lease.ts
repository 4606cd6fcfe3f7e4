import { createHash, randomBytes } from 'node:crypto'

/** A Lease of coordination.k8s.io/v1, as far as it is read and written here. */
export interface LeaseObject {
  apiVersion: 'coordination.k8s.io/v1'
  kind: 'Lease'
  metadata: {
    name: string
    uid?: string
    resourceVersion?: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
  }
  spec?: LeaseSpec
}

interface LeaseSpec {
  /** '' or missing when nobody holds it. */
  holderIdentity?: string
  leaseDurationSeconds?: number
  acquireTime?: string
  renewTime?: string
  leaseTransitions?: number
}

export const MEMBER = 'member'
export const WATCH = 'watch'
const WATCHES = 'kubeherald.dev/watches'

/** A lease of a watch, or of a process: those are how processes find each other. */
export type Purpose = typeof MEMBER | typeof WATCH

/** What is written into a lease besides who holds it since when. */
export interface LeaseDescription {
  name: string
  group: Group
  purpose: Purpose
  /** Title of the watch, for readers of the Lease. */
  title?: string
  /** Only for a process: the ids of the watches that it can take. */
  wants?: readonly string[]
}

export function labelsOf({ cluster, store }: Group): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'kubeherald',
    'kubeherald.dev/cluster': cluster,
    'kubeherald.dev/store': store,
  }
}

export function purposeOf({ metadata }: LeaseObject): Purpose {
  return metadata.labels?.['app.kubernetes.io/component'] === MEMBER ? MEMBER : WATCH
}

export function holderOf({ spec }: LeaseObject): string {
  return spec?.holderIdentity ?? ''
}

export function wantsOf({ metadata }: LeaseObject): ReadonlySet<string> {
  return new Set((metadata.annotations?.[WATCHES] ?? '').split(',').filter(Boolean))
}

/** A lease that is new, or an older one, now held by `holder`. Its times are for readers only: no process decides by them. */
export function taken(
  before: LeaseObject | undefined,
  description: LeaseDescription,
  { holder, durationMs, nowMs }: { holder: string; durationMs: number; nowMs: number },
): LeaseObject {
  const same = before !== undefined && holderOf(before) === holder
  const { leaseTransitions = 0, acquireTime } = before?.spec ?? {}
  const now = microTime(nowMs)
  return {
    ...describe(before, description),
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: Math.max(1, Math.round(durationMs / 1_000)),
      acquireTime: same ? (acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: before === undefined || same ? leaseTransitions : leaseTransitions + 1,
    },
  }
}

/** The lease as it is left behind: immediately free. */
export function released(before: LeaseObject, nowMs: number): LeaseObject {
  const now = microTime(nowMs)
  const { leaseTransitions = 0 } = before.spec ?? {}
  return {
    ...before,
    spec: {
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: now,
      renewTime: now,
      leaseTransitions,
    },
  }
}

/** The lease with its labels again, whatever its holder; undefined when it has them. */
export function relabelled(before: LeaseObject, description: LeaseDescription): LeaseObject | undefined {
  const next = describe(before, description)
  const [labels, wanted] = [before.metadata.labels ?? {}, next.metadata.labels ?? {}]
  const isWhole = Object.entries(wanted).every(([key, value]) => labels[key] === value)
  return isWhole ? undefined : { ...next, ...(before.spec && { spec: before.spec }) }
}

/** What others wrote into its metadata stays. */
function describe(
  before: LeaseObject | undefined,
  { name, group, purpose, title, wants }: LeaseDescription,
): Omit<LeaseObject, 'spec'> {
  const labels = { ...labelsOf(group), 'app.kubernetes.io/component': purpose }
  const annotations = {
    ...(title !== undefined && { 'kubeherald.dev/watch': title }),
    ...(wants && { [WATCHES]: wants.join(',') }),
  }
  const metadata: LeaseObject['metadata'] = before?.metadata ?? { name }
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...labels },
      annotations: { ...metadata.annotations, ...annotations },
    },
  }
}

/** Kubernetes' MicroTime: RFC 3339 with microseconds. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z')
}

const ID_LENGTH = 10

/** Processes share their watches when both are the same: two who write to different queues have nothing to share. */
export interface Group {
  /** The cluster's name. */
  cluster: string
  /** Distinguishes one Redis from another. */
  store: string
}

/** The Lease of a watch: a DNS label, readable, and another one for every group and source. */
export function watchLeaseName({ cluster, store }: Group, source: { key: string; title: string }): string {
  const { key, title } = source
  return `kubeherald-${slug(cluster, 16)}-${slug(title, 24)}-${digest([cluster, store, key])}`
}

/** The Lease of a process. */
export function memberLeaseName({ cluster, store }: Group, identity: string): string {
  return `kubeherald-${slug(cluster, 16)}-member-${digest([cluster, store, identity])}`
}

/** Distinguishes the leases of one group: the end of the name. */
export function leaseId(name: string): string {
  return name.slice(-ID_LENGTH)
}

/** Never the same for two processes, also of one pod: the pod's name, or the machine's, and something random. */
export function newIdentity(env: NodeJS.ProcessEnv, host: string): string {
  return `${env['POD_NAME'] || host}_${randomBytes(6).toString('hex')}`
}

function digest(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, ID_LENGTH)
}

function slug(text: string, most: number): string {
  const parts = text.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  return parts.slice(0, most).replace(/^-+|-+$/g, '') || 'x'
}
