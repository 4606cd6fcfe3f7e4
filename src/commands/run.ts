import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type App, builtInSinks, type Role, startApp } from '../app.ts'
import { clusterName } from '../cluster-name.ts'
import type { Config } from '../config/schema.ts'
import { createLog, LOG_LEVELS, type Logger, type LogLevel } from '../log.ts'
import { addressOf, reachRedis } from '../queue/connection.ts'
import { startEmbedded } from '../queue/embedded.ts'
import { keysOf } from '../queue/keys.ts'
import { checkRedis } from '../queue/requirements.ts'
import { stateDir } from '../state-dir.ts'
import { userAgent, version } from '../version.ts'
import { connectCluster } from '../watch/connect.ts'
import { findKubeconfig, type KubeconfigOptions, loadAccess } from '../watch/kubeconfig.ts'
import { readConfiguration } from './configuration.ts'
import { firstSignal } from './signals.ts'
import { UsageError } from './usage-error.ts'

export interface RunOptions {
  config?: string
  context?: string
  role: Role
  stateDir?: string
  logLevel?: string
  /** Watch the demo cluster, even if there is a real one. */
  demo?: boolean
}

const STOP_LIMIT_MS = 9_500

/** Runs until SIGINT or SIGTERM. */
export async function run(options: RunOptions): Promise<number> {
  await using stack = new AsyncDisposableStack()
  const asked = firstSignal()
  const access = await chooseCluster(options, stack)
  const { config, file, warnings } = await readConfiguration(options.config, builtInSinks, {
    demo: access?.demo ?? false,
  })
  process.stderr.write(warnings)
  const log = chooseLog(options, access?.demo ?? false)
  const context = access && loadAccess({ ...access.options, ...kubernetesOf(config, options, access.demo) })
  const cluster = access?.demo && !config.cluster ? 'demo' : clusterName(config, context?.context)
  const redis = await chooseRedis(options, config, cluster, access?.demo ?? false, log, stack)
  const checked = await requireRedis(redis.url, cluster, log)
  const client =
    context && connectCluster({ ...access.options, ...kubernetesOf(config, options, access.demo), userAgent })
  const app = await startApp({
    config,
    cluster,
    role: options.role,
    redisUrl: redis.url,
    log,
    ...(client && { client }),
  })
  const banner = describeStart({ file, access, context, redis, redisVersion: checked, app, options })
  if (access?.demo || process.stderr.isTTY) process.stderr.write(banner)
  else
    log.info(
      { cluster, server: context?.server, redis: addressOf(redis.url), http: app.url, role: options.role },
      `kubeherald ${version} started`,
    )
  const signal = await Promise.race([asked, outputClosed()])
  return stop(app, signal, log)
}

/** Whoever read our output went away, as `head` does: the end, not an error. */
function outputClosed(): Promise<string> {
  return new Promise((resolve) => {
    process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'EPIPE') resolve('nobody reads the output any more')
    })
  })
}

async function stop(app: App, signal: string, log: Logger): Promise<number> {
  log.info({ cause: signal }, 'stopping')
  const limit = setTimeout(() => {
    log.error({}, 'could not stop in time; what was in flight will be delivered again')
    process.exit(1)
  }, STOP_LIMIT_MS)
  const { pending } = await app.stop()
  clearTimeout(limit)
  const rest =
    pending === 0 ? 'nothing is pending' : `${pending} deliveries are pending; they go on with the next start`
  process.stderr.write(`kubeherald stopped: ${rest}\n`)
  return 0
}

interface Access {
  options: KubeconfigOptions
  demo: boolean
  describe: string
}

/** The cluster that is configured, or the demo; none for a process that only delivers. */
async function chooseCluster(options: RunOptions, stack: AsyncDisposableStack): Promise<Access | undefined> {
  if (options.role === 'deliver') return undefined
  const env = process.env
  if (!options.demo && (options.config || findKubeconfig({ env })))
    return { options: { env }, demo: false, describe: '' }
  if (!options.demo && env['KUBEHERALD_CONFIG']) return { options: { env }, demo: false, describe: '' }
  const { startDemoCluster } = await import('../demo/cluster.ts')
  const demo = stack.use(await startDemoCluster({ random: Math.random, clock: Date }))
  return { options: { env: {}, kubeconfig: demo.kubeconfig }, demo: true, describe: demo.url }
}

function kubernetesOf(
  { kubernetes }: Config,
  { context }: RunOptions,
  demo: boolean,
): Pick<KubeconfigOptions, 'kubeconfig' | 'context'> {
  if (demo) return {}
  return {
    ...(kubernetes.kubeconfig && { kubeconfig: kubernetes.kubeconfig }),
    ...((context ?? kubernetes.context) && { context: (context ?? kubernetes.context) as string }),
  }
}

interface ChosenRedis {
  url: string
  /** Set for a private one. */
  dir?: string
}

async function chooseRedis(
  options: RunOptions,
  config: Config,
  cluster: string,
  demo: boolean,
  log: Logger,
  stack: AsyncDisposableStack,
): Promise<ChosenRedis> {
  if (config.redis.url) return { url: config.redis.url }
  if (options.role !== 'all') {
    throw new UsageError(
      `--role ${options.role} shares its work with other processes: set redis.url in the configuration`,
    )
  }
  const own = stateDir(options.stateDir, process.env)
  const dir = demo ? join(own, 'demo') : own
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  // A demo's day is new each time: what the last one left is of no use.
  if (demo) stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  const embedded = await startEmbedded(dir, log)
  stack.defer(() => embedded.stop())
  writeFileSync(join(dir, 'cluster'), cluster)
  return { url: embedded.url, dir }
}

/** Refuses a Redis that would lose what it is given. Gives its version. */
async function requireRedis(url: string, cluster: string, log: Logger): Promise<string> {
  const redis = await reachRedis(url)
  try {
    const { version: redisVersion, refusals, warnings } = await checkRedis(redis, keysOf(cluster))
    for (const warning of warnings) log.warn({}, warning)
    if (refusals.length > 0) throw new UsageError(refusals.join('\nkubeherald: '))
    return redisVersion
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new Error(`Redis at ${addressOf(url)} cannot be used: ${(error as Error).message}`, {
      cause: error,
    })
  } finally {
    redis.disconnect()
  }
}

function chooseLog({ logLevel }: RunOptions, demo: boolean): Logger {
  if (logLevel !== undefined && !LOG_LEVELS.includes(logLevel as LogLevel)) {
    throw new UsageError(`"${logLevel}" is no log level: ${LOG_LEVELS.join(', ')}`)
  }
  const terminal = process.stderr.isTTY === true
  return createLog({
    // Who looks at the demo wants to see events, not how they come about.
    level: (logLevel as LogLevel | undefined) ?? (demo ? 'warn' : 'info'),
    format: terminal || demo ? 'text' : 'json',
    colour: terminal && !process.env['NO_COLOR'],
    output: process.stderr,
  })
}

interface Start {
  file: string | undefined
  access: Access | undefined
  context: { context: string; server: string; origin: string } | undefined
  redis: ChosenRedis
  redisVersion: string
  app: App
  options: RunOptions
}

/** At most six lines: what was found, what was started instead, and how to point it at the real thing. */
function describeStart({ file, access, context, redis, redisVersion, app, options }: Start): string {
  const config =
    file ?? 'none found, so a starter that prints a selection (write kubeherald.yaml, or --config FILE)'
  const cluster = access?.demo
    ? 'none found, so a demo cluster inside this process (set KUBECONFIG, or run in a pod)'
    : context
      ? `${context.context} at ${context.server} (${context.origin})`
      : `not needed for --role ${options.role}`
  const store = redis.dir
    ? `${redisVersion}, private, in ${redis.dir} (redis.url in the configuration shares one)`
    : `${redisVersion} at ${addressOf(redis.url)}`
  const http = app.url
    ? `${app.url}/readyz and /metrics; "kubeherald status" shows more; Ctrl-C stops`
    : 'off; "kubeherald status" shows more; Ctrl-C stops'
  return `kubeherald ${version}\n  config   ${config}\n  cluster  ${cluster}\n  redis    ${store}\n  http     ${http}\n`
}
