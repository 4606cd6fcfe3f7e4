import { createHash, randomBytes } from 'node:crypto'

const ID_LENGTH = 10

/** The Lease of a watch: a DNS label, readable, and another one for every cluster name and source. */
export function watchLeaseName(cluster: string, { key, title }: { key: string; title: string }): string {
  return `kubeherald-${slug(cluster, 16)}-${slug(title, 24)}-${digest([cluster, key])}`
}

/** The Lease of a process. */
export function memberLeaseName(cluster: string, identity: string): string {
  return `kubeherald-${slug(cluster, 16)}-member-${digest([cluster, identity])}`
}

/** What tells the leases of one cluster apart: the end of the name. */
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
