import { setTimeout as pause } from 'node:timers/promises'
import { type App, type Role, startApp } from '../../app.ts'
import type { Config } from '../../config/schema.ts'
import { DEMO_STARTER } from '../../config/starter.ts'
import { addressOf, targetOf } from '../../queue/redis-target.ts'
import { RedisRefusedError } from '../../queue/wait-for-redis.ts'
import { freePort } from '../../server/free-port.ts'
import { builtInSinks } from '../../sink-types.ts'
import { userAgent, version } from '../../version.ts'
import { connectCluster } from '../../watch/connect.ts'
import { findKubeconfig, type KubeconfigOptions } from '../../watch/kubeconfig.ts'
import { kubeconfigOptions, loadCluster } from '../cluster-access.ts'
import { clusterName } from '../cluster-name.ts'
import { type CommandLog, commandLog, tellWarnings } from '../command-log.ts'
import { configurationFile, pluginsOff, readConfiguration } from '../reading/configuration.ts'
import { missingToShare } from '../sharing.ts'
import { firstSignal, hangUpReloads, outputClosed } from '../signals.ts'
import { UsageError } from '../usage-error.ts'
import { type Begun, describeStart } from './banner.ts'
import { followConfiguration } from './follow-configuration.ts'
import type { RunOptions } from './run-options.ts'
import { type ChosenRedis, openRunRedis, SHARED_DEMO } from './run-redis.ts'
import { spareMemory } from './spare-memory.ts'

const STOP_LIMIT_MS = 9_500

/** For a start that was under way when the end came: soon it is complete, and can be stopped like any other. */
const START_GRACE_MS = 3_000

/** Runs until SIGINT or SIGTERM, or a SIGHUP that does not ask for a reload, also during its start. */
export async function run(options: RunOptions): Promise<number> {
  const foreign = Promise.withResolvers<string>()
  const purpose: Purpose = {
    onlyPrints: true,
    reload() {},
    onLayoutChanged: (error) => foreign.resolve(error.message),
  }
  const file = options.demo && options.config === undefined ? undefined : configurationFile(options.config)
  const reloads = hangUpReloads(file)
  const signals = firstSignal(reloads ? ['SIGINT', 'SIGTERM'] : ['SIGINT', 'SIGTERM', 'SIGHUP'])
  if (reloads) process.on('SIGHUP', () => purpose.reload())
  const end = Promise.race([signals, outputClosed(() => purpose.onlyPrints), foreign.promise])
  const demo = options.demo ? 'asked for' : hasNothing(options, file) ? 'no cluster' : undefined
  const output = commandLog(options.logLevel, demo !== undefined)
  await using stack = new AsyncDisposableStack()
  const ending = new AbortController()
  const starting = start({ file, demo, options }, purpose, output, stack, ending.signal)
  const first = await Promise.race([starting, end])
  const cause = typeof first === 'string' ? first : await end
  ending.abort()
  output.log.info({ cause }, 'stopping')
  limitStop(output)
  const app = typeof first === 'string' ? await begunSoon(starting) : first
  if (app) await stop(app, demo !== undefined, output)
  else output.say('kubeherald stopped before its start was complete', {})
  return (await Promise.race([foreign.promise, undefined])) === undefined ? 0 : 1
}

/** What signals and a closed output mean for this process. */
interface Purpose {
  onlyPrints: boolean
  reload(): void
  /** A newer version converted the keys in Redis. */
  onLayoutChanged(error: Error): void
}

function onlyPrints({ sinks }: Config): boolean {
  return sinks.every(({ type }) => type === 'stdout')
}

/** No configuration and no cluster anywhere: only then a demo can stand in without anybody being surprised. */
function hasNothing({ role, context }: RunOptions, file: string | undefined): boolean {
  return (
    file === undefined &&
    context === undefined &&
    role === 'all' &&
    findKubeconfig({ env: process.env }) === undefined
  )
}

async function start(
  { file, demo, options }: Pick<Begun, 'file' | 'demo' | 'options'>,
  purpose: Purpose,
  output: CommandLog,
  stack: AsyncDisposableStack,
  ending: AbortSignal,
): Promise<App> {
  const { log } = output
  const starter = demo && DEMO_STARTER
  const configuration = await readConfiguration(file, builtInSinks, starter, pluginsOff(options))
  const { sinkTypes } = configuration
  tellWarnings(configuration, output)
  const config = demo ? await demoConfig(configuration.config, file, options) : configuration.config
  purpose.onlyPrints = onlyPrints(config)
  requireShared(options.role, config)
  const kubeconfig = demo
    ? await openDemo(stack)
    : options.role === 'deliver'
      ? undefined
      : kubeconfigOptions(config.kubernetes, options.context)
  const access = kubeconfig && loadCluster(kubeconfig)
  const cluster = clusterName(config, () => access?.context)
  ending.throwIfAborted()
  const wish = { config, cluster, stateDir: options.stateDir, demo: demo !== undefined }
  const redis = await openRunRedis(wish, log, stack)
  ending.throwIfAborted()
  const client = kubeconfig && connectCluster({ ...kubeconfig, userAgent })
  if (client) stack.defer(() => client.close())
  const { digest } = configuration
  const { onLayoutChanged } = purpose
  const { role } = options
  const shared = { config, cluster, role, redis: redis.target, log, digest, sinkTypes, onLayoutChanged }
  const namespace = access?.namespace
  const found = { ...(client && { client }), ...(namespace && { namespace }) }
  const app = await startApp({ ...shared, ...found, signal: ending }).catch(adviseOn(redis))
  const onApplied = (next: Config) => {
    purpose.onlyPrints = onlyPrints(next)
  }
  const following = followConfiguration(configuration, { app, output, onApplied })
  purpose.reload = () => void following.reload()
  stack.defer(() => following.close())
  stack.adopt(spareMemory(), (sparing) => sparing.close())
  // What changes while this process ends is for its successor: here sinks are closed already.
  ending.addEventListener('abort', following.close, { once: true })
  if (ending.aborted) {
    following.close()
    return app
  }
  const unused = demo ? unusedInDemo(configuration.config, config) : []
  if (output.format === 'text')
    process.stderr.write(describeStart({ file, demo, unused, access, redis, app, options }))
  else
    log.info(
      { cluster, server: access?.server, redis: addressOf(redis.target), http: app.url, role: options.role },
      `kubeherald ${version} started`,
    )
  return app
}

/** What Redis is refused for is for the user to change. */
function adviseOn({ dir }: ChosenRedis): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof RedisRefusedError)) throw error
    const whose = dir === undefined ? '' : 'the redis-server of this machine: '
    throw new UsageError(whose + error.refusals.join('\nkubeherald: '))
  }
}

function requireShared(role: Role, config: Config): void {
  const cause = role !== 'all' ? `--role ${role}` : config.leases && '"leases"'
  if (!cause) return
  const missing = missingToShare(config)
  if (missing.length === 0) return
  throw new UsageError(
    `${cause} shares its work with other processes: write into the configuration of all of them\n${missing.map((it) => `  ${it}`).join('\n')}`,
  )
}

async function openDemo(stack: AsyncDisposableStack): Promise<KubeconfigOptions> {
  const { startDemoCluster } = await import('../../demo/cluster.ts')
  const cluster = stack.use(await startDemoCluster({ random: Math.random, clock: Date }))
  return { env: {}, kubeconfig: cluster.kubeconfig }
}

/** A demo never touches what a real one uses; without a file of its own it moves out of a taken port's way. */
async function demoConfig(config: Config, file: string | undefined, options: RunOptions): Promise<Config> {
  const { server } = config
  if (options.sharedRedis && !targetOf(config.redis, ''))
    throw new UsageError('--shared-redis needs redis.url in the file of -c')
  const moved = file === undefined && server && { ...server, port: await freePort(server) }
  const place = options.sharedRedis ? { cluster: SHARED_DEMO } : { cluster: 'demo', redis: {} }
  return { ...config, ...place, kubernetes: {}, leases: false, server: moved || server }
}

function unusedInDemo({ redis, cluster, kubernetes, leases }: Config, used: Config): string[] {
  const keys = {
    redis: targetOf(used.redis, '') ? undefined : targetOf(redis, ''),
    cluster: used.cluster === cluster ? undefined : cluster,
    kubernetes: kubernetes.kubeconfig ?? kubernetes.context,
    leases: leases || undefined,
  }
  return Object.entries(keys).flatMap(([key, value]) => (value === undefined ? [] : [key]))
}

async function begunSoon(starting: Promise<App>): Promise<App | undefined> {
  const waiting = new AbortController()
  const grace = pause(START_GRACE_MS, undefined, { signal: waiting.signal }).catch(() => undefined)
  try {
    return await Promise.race([starting.catch(() => undefined), grace])
  } finally {
    waiting.abort()
  }
}

function limitStop({ log }: CommandLog): void {
  const limit = setTimeout(() => {
    log.error({}, 'could not stop in time; what was in flight will be delivered again')
    process.exit(1)
  }, STOP_LIMIT_MS)
  limit.unref()
}

async function stop(app: App, demo: boolean, output: CommandLog): Promise<void> {
  const { pending } = await app.stop()
  output.say(`kubeherald stopped: ${describePending(pending, demo)}`, { pending })
}

function describePending(pending: number, demo: boolean): string {
  if (pending === 0) return 'nothing is pending'
  const one = pending === 1
  const later = demo
    ? `${one ? 'it is' : 'they are'} deleted with the demo`
    : `${one ? 'it goes' : 'they go'} on with the next start`
  return `${one ? '1 delivery is' : `${pending} deliveries are`} pending; ${later}`
}
