import { redactMessage } from '../../text/redact.ts'
import { ApiFault, faultOf } from '../client/api-fault.ts'
import type { ClusterClient, ClusterResponse } from '../client/cluster-client.ts'
import { type Group, type LeaseObject, labelsOf } from './lease.ts'

/** Somebody else wrote the lease meanwhile, or it exists already. */
export class LeaseConflict extends Error {
  override name = 'LeaseConflict'
}

/** The Leases of one namespace. Throws ApiFault and what the network throws; every call has a time limit. */
export interface LeaseApi {
  list(signal: AbortSignal): Promise<LeaseObject[]>
  get(name: string, signal: AbortSignal): Promise<LeaseObject | undefined>
  /** Throws LeaseConflict. */
  create(lease: LeaseObject, signal: AbortSignal): Promise<LeaseObject>
  /** Writes over the version that was read, and over no other; undefined when it is gone. Throws LeaseConflict. */
  update(lease: LeaseObject, signal: AbortSignal): Promise<LeaseObject | undefined>
  /** Deletes this version, and no other. */
  remove(lease: LeaseObject, signal: AbortSignal): Promise<void>
}

export function createLeaseApi(
  client: ClusterClient,
  { namespace, group, timeoutMs }: { namespace: string; group: Group; timeoutMs: number },
): LeaseApi {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`
  const selector = Object.entries(labelsOf(group)).map(([key, value]) => `${key}=${value}`)
  const query = `labelSelector=${encodeURIComponent(selector.join(','))}`

  async function send(method: 'POST' | 'PUT' | 'DELETE', at: string, body: unknown, signal: AbortSignal) {
    const answer = await client.send(method, at, body, { timeoutMs }, signal)
    if (answer.status === 409) throw new LeaseConflict(`${method} ${at} is too late`)
    return answer
  }

  return {
    async list(signal) {
      const answer = await client.get(`${path}?${query}`, { timeoutMs }, signal)
      return (read(answer) as { items: LeaseObject[] }).items.map(whole)
    },
    async get(name, signal) {
      const answer = await client.get(`${path}/${name}`, { timeoutMs }, signal)
      return answer.status === 404 ? undefined : whole(read(answer) as LeaseObject)
    },
    async create(lease, signal) {
      const { resourceVersion: _, uid: __, ...metadata } = lease.metadata
      return whole(read(await send('POST', path, { ...lease, metadata }, signal)) as LeaseObject)
    },
    async update(lease, signal) {
      const answer = await send('PUT', `${path}/${lease.metadata.name}`, lease, signal)
      return answer.status === 404 ? undefined : whole(read(answer) as LeaseObject)
    },
    async remove({ metadata: { name, uid, resourceVersion } }, signal) {
      const answer = await send(
        'DELETE',
        `${path}/${name}`,
        { preconditions: { uid, resourceVersion } },
        signal,
      )
      if (answer.status !== 404) read(answer)
    },
  }
}

function read(answer: ClusterResponse): unknown {
  if (answer.status < 200 || answer.status > 299) throw faultOf(answer)
  return JSON.parse(answer.body.toString())
}

/** Items of lists come without their kind; what somebody else manages is not sent back. */
function whole({ metadata, spec }: LeaseObject): LeaseObject {
  const { managedFields: _, ...rest } = metadata as LeaseObject['metadata'] & { managedFields?: unknown }
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: rest, ...(spec && { spec }) }
}

/** It takes a person: permissions, or a namespace that is not there. */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof ApiFault)) return false
  const { code } = error.status
  return code >= 400 && code < 500 && ![401, 408, 409, 429].includes(code)
}

/** Returns the message of an error as logs and status show it. */
export function messageOf(error: unknown): string {
  return redactMessage(error instanceof Error ? error.message : String(error))
}
