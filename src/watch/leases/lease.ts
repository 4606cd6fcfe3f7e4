import type { Group } from './names.ts'

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
  /** Of the watch, for people. */
  title?: string
  /** Of a process: the ids of what it can watch. */
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

/** A lease that nobody wrote yet, or an older one, now held by `holder`. Times are for people: nobody decides by them. */
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

/** The lease as it is left behind: free at once for anybody. */
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

/** The lease with its labels again, whoever holds it; undefined when it has them. */
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
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z')
}
