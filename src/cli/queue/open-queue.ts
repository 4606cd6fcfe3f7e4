import { existsSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { type Keys, keysOf } from '../../store/keys.ts'
import { reachRedis } from '../../store/redis/connection.ts'
import { type EmbeddedRedis, useEmbedded } from '../../store/redis/embedded.ts'
import { foreignLayout } from '../../store/redis/layout.ts'
import { addressOf, type RedisTarget, targetOf } from '../../store/redis/redis-target.ts'
import { findKubeconfig } from '../../watch/client/kubeconfig.ts'
import { clusterName, invocation, kubeconfigOptions, loadCluster, stateDir } from '../environment.ts'
import { configurationFile } from '../load-config/configuration.ts'
import { readStorageSettings, type StorageSettings } from '../load-config/settings.ts'
import { SHARED_DEMO } from '../run/run-redis.ts'

/** The stored data of a configuration, for commands other than `run`. */
export interface OpenQueue extends AsyncDisposable {
  redis: Redis
  keys: Keys
  cluster: string
  /** Nothing is stored under this name; a warning was printed. */
  isNew: boolean
  /** The names in the configuration; Redis may have others. */
  configuredSinks: readonly string[]
}

export interface QueueOptions {
  config?: string
  context?: string
  stateDir?: string
  /** The running demo, independent of the configuration; with a file that has `redis.url`, the one that shares that Redis. */
  demo?: boolean
  /** A private Redis must run already: a command that lasts would keep `run` from its directory. */
  onlyRunning?: boolean
}

const NO_FILE: StorageSettings = { redis: {}, kubernetes: {}, sinks: [], otherProblems: [] }

/** Opens the Redis that `run` uses with the same arguments. */
export async function openQueue(options: QueueOptions): Promise<OpenQueue> {
  const file = settingsFile(options)
  const settings = file === undefined ? NO_FILE : await readStorageSettings(file)
  if (file !== undefined) warnOtherProblems(file, settings)
  await using stack = new AsyncDisposableStack()
  const isShared = targetOf(settings.redis, '') !== undefined
  const place = isShared ? undefined : await openPrivate(options, file)
  if (place) stack.defer(() => place.redis.stop())
  const cluster = isShared && options.demo ? SHARED_DEMO : clusterOf(settings, options, place)
  const keys = keysOf(cluster)
  const target = targetOf(settings.redis, keys.bullmq) ?? { url: (place as PrivateRedis).redis.url }
  const redis = await reachRedis(target)
  stack.defer(() => redis.disconnect())
  const layout = await redis.get(keys.schema)
  const foreign = foreignLayout(layout)
  if (foreign !== undefined) throw new Error(foreign)
  const isNew = layout === null
  if (isNew) process.stderr.write(`warning: ${await nothingStored(redis, { cluster, target, settings })}\n`)
  const opened = stack.move()
  return {
    redis,
    keys,
    cluster,
    isNew,
    configuredSinks: settings.sinks,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** Undefined for a private demo, which has its own Redis. */
function settingsFile({ demo, config, stateDir: option }: QueueOptions): string | undefined {
  if (!demo) return configurationFile(config)
  const isPrivate = config === undefined || isHeld(demoDir(option))
  return isPrivate ? undefined : configurationFile(config)
}

function demoDir(option: string | undefined): string {
  return join(stateDir(option, process.env), 'demo')
}

function warnOtherProblems(file: string, { otherProblems }: StorageSettings): void {
  const count = otherProblems.filter(({ severity }) => severity === 'error').length
  if (count === 0) return
  process.stderr.write(
    `warning: ${file} has ${count} ${count === 1 ? 'problem' : 'problems'} that ${count === 1 ? 'does' : 'do'} not matter here; ` +
      `"${invocation(process.env)} check" shows more\n`,
  )
}

interface PrivateRedis {
  redis: EmbeddedRedis
  demo: boolean
  /** The name under which the last process ran; undefined when it is not known. */
  cluster: string | undefined
}

/** The private Redis of the state directory, or that of a demo that runs. */
async function openPrivate(
  { stateDir: option, demo, onlyRunning = false }: QueueOptions,
  file?: string,
): Promise<PrivateRedis> {
  const own = stateDir(option, process.env)
  const ofDemo = demoDir(option)
  if (demo && !isHeld(ofDemo)) throw new Error(`no demo runs with ${own}`)
  const useDemo = demo || (file === undefined && !isHeld(own) && isHeld(ofDemo))
  const dir = useDemo ? ofDemo : own
  const redis = await useEmbedded(dir, { onlyRunning })
  const note = join(dir, 'cluster')
  return {
    redis,
    demo: useDemo,
    cluster: existsSync(note) ? readFileSync(note, 'utf8') : undefined,
  }
}

/** Returns true if a process runs with the directory. A process on another host counts as running. */
function isHeld(dir: string): boolean {
  const lock = join(dir, 'kubeherald.pid')
  if (!existsSync(lock)) return false
  const [host, pid] = readFileSync(lock, 'utf8').split(' ')
  if (host !== hostname()) return true
  try {
    return process.kill(Number(pid), 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function clusterOf(settings: StorageSettings, { context }: QueueOptions, place?: PrivateRedis): string {
  if (place?.demo) return place.cluster ?? 'demo'
  if (!settings.cluster && !context && place?.cluster) return place.cluster
  return clusterName(settings, () => {
    const options = kubeconfigOptions(settings.kubernetes, context)
    // The name is enough: these commands need no cluster, and an operator may have no kubeconfig.
    return options.context ?? (findKubeconfig(options) ? loadCluster(options).context : undefined)
  })
}

/** Bounds the search for other names: a shared Redis may have millions of keys. */
const SCANNED_PAGES = 20

async function nothingStored(
  redis: Redis,
  { cluster, target, settings }: { cluster: string; target: RedisTarget; settings: StorageSettings },
): Promise<string> {
  const names = await storedNames(redis)
  const others =
    names.size === 0
      ? 'kubeherald has not run with it'
      : `there is ${[...names].toSorted().join(', ')}: choose with cluster: in the configuration${settings.cluster ? '' : ', or --context'}`
  return `nothing is stored under the cluster name "${cluster}" in Redis at ${addressOf(target)}; ${others}`
}

/** Empty where the Redis user may not SCAN. */
async function storedNames(redis: Redis): Promise<ReadonlySet<string>> {
  const names = new Set<string>()
  let cursor = '0'
  for (let page = 0; page < SCANNED_PAGES; page++) {
    const scanned = await redis
      .scan(cursor, 'MATCH', '{kubeherald:*}:schema', 'COUNT', 1_000)
      .catch(() => undefined)
    if (!scanned) break
    for (const key of scanned[1]) names.add(key.slice('{kubeherald:'.length, -'}:schema'.length))
    cursor = scanned[0]
    if (cursor === '0') break
  }
  return names
}
