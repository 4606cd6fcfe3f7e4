import { createHash, randomBytes } from 'node:crypto'

const ID_LENGTH = 10

/** Processes share their watches when both are the same: two who write to different queues have nothing to share. */
export interface Group {
  /** The cluster's name. */
  cluster: string
  /** Tells one Redis from another. */
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

/** What tells the leases of one group apart: the end of the name. */
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
  const words = text.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  return words.slice(0, most).replace(/^-+|-+$/g, '') || 'x'
}
