import { hostname } from 'node:os'
import type { Logger } from '../../log.ts'
import type { Metrics } from '../../metrics.ts'
import type { ClusterClient } from '../cluster-client.ts'
import { DEFAULT_TIMING } from '../timing.ts'
import { createLeaseApi } from './lease-api.ts'
import { type Group, newIdentity } from './names.ts'
import { type LeaseSettings, leaseNamespace } from './settings.ts'
import { createSourceLeases, type SourceLeases } from './source-leases.ts'

export interface OpenLeasesParts {
  client: ClusterClient
  group: Group
  metrics: Metrics
  log: Logger
  contextNamespace: string | undefined
  silentMs(): number
}

/** The leases of a configuration, as this process shares in them. */
export function openLeases(settings: LeaseSettings, parts: OpenLeasesParts): SourceLeases {
  const { client, group, metrics, log } = parts
  const namespace = leaseNamespace(settings, process.env, parts.contextNamespace)
  const renewDeadlineMs = settings.renewDeadlineSeconds * 1_000
  const retryPeriodMs = settings.retryPeriodSeconds * 1_000
  const identity = newIdentity(process.env, hostname())
  log.info({ namespace, identity }, 'shares its watches with other processes by leases')
  return createSourceLeases({
    api: createLeaseApi(client, { namespace, group, timeoutMs: renewDeadlineMs / 2 }),
    client,
    group,
    namespace,
    metrics,
    log,
    silentMs: parts.silentMs,
    identity,
    durationMs: settings.durationSeconds * 1_000,
    renewDeadlineMs,
    retryPeriodMs,
    pollMs: retryPeriodMs / 2,
    slowRetryMs: DEFAULT_TIMING.slowRetryMs,
    monotonic: () => performance.now(),
    clock: { now: () => Date.now() },
    random: Math.random,
  })
}
