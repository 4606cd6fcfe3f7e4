import { setTimeout as pause } from 'node:timers/promises'
import { type App, type Role, startApp } from '../../app/app.ts'
import type { Config } from '../../config/schema.ts'
import { demoStarter } from '../../config/starter.ts'
import { allSinks, sinkLoader } from '../../sink-types.ts'
import { addressOf, targetOf } from '../../store/redis/redis-target.ts'
import { RedisRefusedError } from '../../store/redis/requirements.ts'
import { userAgent, version } from '../../version.ts'
import { connectCluster } from '../../watch/client/connect.ts'
import { type ClusterAccess, findKubeconfig, type KubeconfigOptions } from '../../watch/client/kubeconfig.ts'
import { type CommandLog, commandLog, printWarnings } from '../command-log.ts'
import { clusterName, invocation, kubeconfigOptions, loadCluster, missingToShare } from '../environment.ts'
import {
  configurationFile,
  type PluginOptions,
  pluginsOff,
  readConfiguration,
} from '../load-config/configuration.ts'
import { note } from '../output/notes.ts'
import { firstSignal, hangUpReloads, outputClosed } from '../signals.ts'
import { NothingToRun, UsageError } from '../usage-error.ts'
import { followConfiguration } from './follow-configuration.ts'
import { type ChosenRedis, openRunRedis, SHARED_DEMO } from './run-redis.ts'
import { spareMemory } from './spare-memory.ts'

const STOP_LIMIT_MS = 9_500

/** A start that is under way when the process ends is completed first, so that it can be stopped normally. */
const START_GRACE_MS = 3_000

/** Runs until SIGINT or SIGTERM, or a SIGHUP that does not ask for a reload, also during its start. */
export async function run(options: RunOptions): Promise<number> {
  const file = options.demo && options.config === undefined ? undefined : configurationFile(options.config)
  const demo = options.demo ? 'asked for' : hasNothing(options, file) ? 'no cluster' : undefined
  const output = commandLog(options.logLevel, demo !== undefined)
  if (demo === 'no cluster') requireViewer(process.env)
  const foreign = Promise.withResolvers<string>()
  const reactions: Reactions = {
    onlyPrints: true,
    reload() {},
    onLayoutChanged: (error) => foreign.resolve(error.message),
  }
  const reloads = hangUpReloads(file)
  const signals = firstSignal(reloads ? ['SIGINT', 'SIGTERM'] : ['SIGINT', 'SIGTERM', 'SIGHUP'])
  if (reloads) process.on('SIGHUP', () => reactions.reload())
  const end = Promise.race([signals, outputClosed(() => reactions.onlyPrints), foreign.promise])
  await using stack = new AsyncDisposableStack()
  const ending = new AbortController()
  const starting = start({ file, demo, options }, reactions, output, stack, ending.signal)
  const first = await Promise.race([starting, end])
  const cause = typeof first === 'string' ? first : await end
  ending.abort()
  output.log.info({ cause }, 'stopping')
  limitStop(output)
  const app = typeof first === 'string' ? await begunSoon(starting) : first
  if (app) await stop(app, demo !== undefined, output)
  else output.print('kubeherald stopped before its start was complete', {})
  return (await Promise.race([foreign.promise, undefined])) === undefined ? 0 : 1
}

/** How this process reacts to signals and a closed output. */
interface Reactions {
  onlyPrints: boolean
  reload(): void
  /** A newer version converted the keys in Redis. */
  onLayoutChanged(error: Error): void
}

async function onlyPrints({ sinks }: Config, load: ReturnType<typeof sinkLoader>): Promise<boolean> {
  const types = await Promise.all(sinks.map(({ type }) => load(type)))
  return types.every(({ printsToStdout }) => printsToStdout === true)
}

/** Whether `run` starts the demo: no configuration file, no `--context`, all roles, and no kubeconfig or service account. */
function hasNothing({ role, context }: RunOptions, file: string | undefined): boolean {
  return (
    file === undefined &&
    context === undefined &&
    role === 'all' &&
    findKubeconfig({ env: process.env }) === undefined
  )
}

/** Throws `NothingToRun` unless somebody can see that a demo runs: `npm start` always shows it. */
function requireViewer(env: NodeJS.ProcessEnv): void {
  const isTerminal = [process.stdout, process.stderr].some(({ isTTY }) => isTTY === true)
  if (isTerminal || invocation(env) !== 'kubeherald') return
  throw new NothingToRun(
    'there is neither a configuration (--config, $KUBEHERALD_CONFIG, ./kubeherald.yaml) nor a cluster ($KUBECONFIG, ~/.kube/config); "kubeherald demo" starts a demo',
  )
}

async function start(
  { file, demo, options }: Pick<Begun, 'file' | 'demo' | 'options'>,
  reactions: Reactions,
  output: CommandLog,
  stack: AsyncDisposableStack,
  ending: AbortSignal,
): Promise<App> {
  const { log } = output
  const starter = demo && file === undefined ? await openDemoStarter(stack) : undefined
  const configuration = await readConfiguration(file, allSinks, starter, pluginsOff(options))
  const { sinkTypes } = configuration
  printWarnings(configuration, output)
  const config = demo ? demoConfig(configuration.config, options) : configuration.config
  const load = sinkLoader(sinkTypes)
  // The chat and the pager of a demo are in this process.
  reactions.onlyPrints = starter !== undefined || (await onlyPrints(config, load))
  requireShared(options.role, config)
  const kubeconfig = demo
    ? await openDemo(stack)
    : options.role === 'deliver'
      ? undefined
      : kubeconfigOptions(config.kubernetes, options.context)
  const access = kubeconfig && loadCluster(kubeconfig)
  const cluster = clusterName(config, () => access?.context)
  ending.throwIfAborted()
  const redisOptions = { config, cluster, stateDir: options.stateDir, demo: demo !== undefined }
  const redis = await openRunRedis(redisOptions, log, stack)
  ending.throwIfAborted()
  const client = kubeconfig && connectCluster({ ...kubeconfig, userAgent })
  if (client) stack.defer(() => client.close())
  const { digest } = configuration
  const { onLayoutChanged } = reactions
  const { role } = options
  const shared = { config, cluster, role, redis: redis.target, log, digest, sinkTypes, onLayoutChanged }
  const namespace = access?.namespace
  const found = { ...(client && { client }), ...(namespace && { namespace }) }
  // A demo without a file takes another port where the usual one is taken.
  const orAnyPort = demo !== undefined && file === undefined
  const app = await startApp({ ...shared, ...found, orAnyPort, signal: ending }).catch(adviseOn(redis))
  const onApplied = async (next: Config) => {
    reactions.onlyPrints = await onlyPrints(next, load)
  }
  const following = followConfiguration(configuration, { app, output, onApplied })
  reactions.reload = () => void following.reload()
  stack.defer(() => following.close())
  stack.adopt(spareMemory(), (sparing) => sparing.close())
  // A change while this process ends is for its successor: the sinks here are closed already.
  ending.addEventListener('abort', following.close, { once: true })
  if (ending.aborted) {
    following.close()
    return app
  }
  const unused = demo ? unusedInDemo(configuration.config, config) : []
  if (output.format === 'text') note(describeStart({ file, demo, unused, access, redis, app, options }))
  else
    log.info(
      { cluster, server: access?.server, redis: addressOf(redis.target), http: app.url, role: options.role },
      `kubeherald ${version} started`,
    )
  return app
}

/** A refused Redis is a mistake that the user can correct. */
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

async function openDemoStarter(stack: AsyncDisposableStack): Promise<string> {
  const { startDemoReceivers } = await import('../../demo/receivers.ts')
  return demoStarter(stack.use(await startDemoReceivers()).url)
}

async function openDemo(stack: AsyncDisposableStack): Promise<KubeconfigOptions> {
  const { startDemoCluster } = await import('../../demo/cluster.ts')
  const cluster = stack.use(await startDemoCluster({ random: Math.random, clock: Date }))
  return { env: {}, kubeconfig: cluster.kubeconfig }
}

/** A demo never uses the data of a real process. */
function demoConfig(config: Config, options: RunOptions): Config {
  if (options.sharedRedis && !targetOf(config.redis, ''))
    throw new UsageError('--shared-redis needs redis.url in the file of -c')
  const place = options.sharedRedis ? { cluster: SHARED_DEMO } : { cluster: 'demo', redis: {} }
  return { ...config, ...place, kubernetes: {}, leases: false }
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
  output.print(`kubeherald stopped: ${describePending(pending, demo)}`, { pending })
}

function describePending(pending: number, demo: boolean): string {
  if (pending === 0) return 'nothing is pending'
  const one = pending === 1
  const later = demo
    ? `${one ? 'it is' : 'they are'} deleted with the demo`
    : `${one ? 'it goes' : 'they go'} on with the next start`
  return `${one ? '1 delivery is' : `${pending} deliveries are`} pending; ${later}`
}

interface Begun {
  file: string | undefined
  /** Why there is a demo, if there is one. */
  demo: 'asked for' | 'no cluster' | undefined
  /** Keys of the file that a demo ignores. */
  unused: readonly string[]
  /** Undefined for a process that only delivers. */
  access: ClusterAccess | undefined
  redis: ChosenRedis
  app: App
  options: RunOptions
}

/** At most six lines: what was found, what was started instead, and how to change that. */
function describeStart(begun: Begun): string {
  const { access, redis, app, options, demo } = begun
  const real = access
    ? `${access.context} at ${access.server} (${access.origin})`
    : `not needed for --role ${options.role}`
  const store = redis.dir
    ? `${app.redisVersion}, private, in ${redis.dir}${demo ? '; deleted at the end' : ' (redis.url in the configuration shares one)'}`
    : `${app.redisVersion} at ${addressOf(redis.target)}${demo ? '; what the demo keeps there is deleted at the end' : ''}`
  const http = `${app.url ? `${app.url}/readyz and /metrics` : 'off'}; "${statusCommand(begun)}" shows more; Ctrl-C stops`
  const lines = [
    `  config   ${configLine(begun)}`,
    `  cluster  ${demo ? DEMO[demo] : real}`,
    `  redis    ${store}`,
    ...(app.url ? [`  page     ${pageAddress(app.url)}`] : []),
    `  http     ${http}`,
  ]
  return `kubeherald ${version}\n${lines.join('\n')}\n`
}

/** Where a browser on this machine finds the page: a server on all addresses has the one of loopback, too. */
function pageAddress(url: string): string {
  return `${url.replace(/\/\/(0\.0\.0\.0|\[::\])(?=:)/, '//127.0.0.1')}/`
}

const DEMO = {
  'asked for': 'a demo cluster inside this process, as asked for',
  'no cluster': 'none found, so a demo cluster inside this process (set KUBECONFIG, or run in a pod)',
}

function configLine({ file, demo, unused }: Begun): string {
  if (file !== undefined)
    return unused.length === 0 ? file : `${file} (a demo does not use its ${unused.join(', ')})`
  return demo === 'asked for'
    ? 'a starter that prints a selection of events (-c FILE tries your own rules)'
    : 'none found, so a starter that prints a selection of events (write kubeherald.yaml, or --config FILE)'
}

/** The same arguments lead to the same Redis and cluster name. */
function statusCommand({ demo, options }: Begun): string {
  const { config, context, stateDir } = options
  const command = [
    invocation(process.env),
    'status',
    ...(demo ? ['--demo'] : []),
    ...(config && (!demo || options.sharedRedis) ? ['--config', config] : []),
    ...(context ? ['--context', context] : []),
    ...(stateDir ? ['--state-dir', stateDir] : []),
  ]
  return command
    .map((word) => (/\s/.test(word) && !word.endsWith(' --') ? JSON.stringify(word) : word))
    .join(' ')
}

/** Options of `run` and `demo`. */
interface RunOptions extends PluginOptions {
  config?: string
  context?: string
  role: Role
  stateDir?: string
  logLevel?: string
  /** Watch the demo cluster, even if there is a real one. */
  demo?: boolean
  /** With `demo`: in the Redis of the configuration, under a name of its own. */
  sharedRedis?: boolean
}
