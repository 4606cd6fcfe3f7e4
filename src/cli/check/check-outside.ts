import { boundsOf } from '../../app/redis.ts'
import { askHealth } from '../../app/sink-set/health.ts'
import type { Config, SinkConfig } from '../../config/schema.ts'
import { hiderOf, secretsOf } from '../../config/values/secrets.ts'
import type { Health, SinkType } from '../../sink/index.ts'
import { sinkLoader } from '../../sink-types.ts'
import { keysOf } from '../../store/keys.ts'
import { reachRedis } from '../../store/redis/connection.ts'
import { foreignLayout } from '../../store/redis/layout.ts'
import { LastingFault } from '../../store/redis/redis-fault.ts'
import { addressOf, targetOf } from '../../store/redis/redis-target.ts'
import { inspectRedis } from '../../store/redis/requirements.ts'
import { friendlyError } from '../../text/friendly-errors.ts'
import { printable } from '../../text/printable.ts'
import { redactMessage } from '../../text/redact.ts'
import { findKubeconfig, noKubeconfig } from '../../watch/client/kubeconfig.ts'
import { kubeconfigOptions } from '../environment.ts'
import type { Configuration } from '../load-config/configuration.ts'
import { openSink } from '../send-test/open-sink.ts'
import { askCluster } from './check-cluster.ts'
import type { Asked, CheckReport, Finding } from './check-report.ts'

/** Checks sinks, Redis and the cluster, and adds the findings to the report. */
export async function ask(
  configuration: Configuration,
  { context }: { context?: string },
  report: CheckReport,
): Promise<Asked> {
  const { config, document } = configuration
  const kubeconfig = kubeconfigOptions(config.kubernetes, context)
  const name = config.cluster ?? 'check'
  const secrets = secretsOf(document)
  // The sinks come first: an unreachable cluster ends the check.
  for (const it of await checkSinks(config, sinkLoader(configuration.sinkTypes), name, hiderOf(secrets)))
    report.add('warning', it)
  for (const { severity, message } of await checkRedisOf(config, name, secrets)) report.add(severity, message)
  if (!context && !findKubeconfig(kubeconfig)) {
    if (process.env['KUBERNETES_SERVICE_HOST']) report.add('warning', POD_WITHOUT_TOKEN)
    return { notAsked: noKubeconfig(process.env) }
  }
  return { cluster: await askCluster(configuration, kubeconfig, report) }
}

/** A warning: who checks in a pod expects an answer about its permissions. */
const POD_WITHOUT_TOKEN =
  'kinds and permissions are not checked, because this pod has no token of a service account: run this in a pod that watches, or with --offline'

/** Text of a sink or of Redis without what would be a secret, or control a terminal: secrets first, since redaction changes URLs. */
function shown(text: string, hide: (text: string) => string): string {
  return printable(redactMessage(hide(text)))
}

/** Checks the configured Redis without writing. Errors make `run` exit; with warnings it waits or starts. */
async function checkRedisOf(config: Config, cluster: string, secrets: readonly string[]): Promise<Finding[]> {
  const keys = keysOf(cluster)
  const target = targetOf(config.redis, keys.bullmq)
  if (!target) return []
  const found: Finding[] = []
  const address = addressOf(target)
  // A host such as `redis` would make its messages unreadable, and is shown anyway.
  const places = new Set([address, ...address.split(/[\s,]+/), ...address.split(/[\s,:]+/)])
  const hide = hiderOf(secrets.filter((it) => !places.has(it)))
  const where = printable(`redis (${address})`)
  const add = (severity: Finding['severity'], messages: readonly string[]) =>
    found.push(...messages.map((it) => ({ severity, message: `${where}: ${shown(it, hide)}` })))
  try {
    const redis = await reachRedis(target)
    try {
      const asCluster = target.cluster !== undefined
      const { refusals, pending, warnings } = await inspectRedis({
        redis,
        keys,
        asCluster,
        bounds: boundsOf(config),
      })
      const foreign = refusals.length === 0 ? foreignLayout(await redis.get(keys.schema)) : undefined
      add('error', [...refusals, ...(foreign === undefined ? [] : [foreign])])
      add('warning', [...pending, ...warnings])
    } finally {
      redis.disconnect()
    }
  } catch (error) {
    add(error instanceof LastingFault ? 'error' : 'warning', [(error as Error).message])
  }
  return found
}

/** Checks the health of every sink without a delivery. Returns warnings; `hide` takes the secrets out of text of a sink. */
async function checkSinks(
  { sinks }: Pick<Config, 'sinks'>,
  typeOf: (type: string) => Promise<SinkType>,
  cluster: string,
  hide: (text: string) => string,
): Promise<string[]> {
  const answers = await Promise.all(
    sinks.map(async (it) => ({ ...it, health: await healthOfSink(it, typeOf, cluster, hide) })),
  )
  return answers.flatMap(({ name, type, health }) => {
    if (!health.ok) return [`sink ${name} (${type}): ${shown(friendlyError(health.detail), hide)}`]
    return (health.warnings ?? []).map((it) => `sink ${name} (${type}): ${shown(it, hide)}`)
  })
}

async function healthOfSink(
  config: SinkConfig,
  typeOf: (type: string) => Promise<SinkType>,
  cluster: string,
  hide: (text: string) => string,
): Promise<Health> {
  try {
    const sink = await openSink(config, typeOf, cluster)
    try {
      return await askHealth(sink, new AbortController().signal, hide)
    } finally {
      await (async () => sink.close())().catch(() => {})
    }
  } catch (error) {
    return { ok: false, reason: 'config', detail: hide((error as Error).message) }
  }
}
