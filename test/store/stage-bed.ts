import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { type Arrival, arrivalIn, differences, nameOf } from '../cluster/compare.ts'
import type { HistoryEntry } from '../cluster/etcd-history.ts'
import { type Kubeherald, startKubeherald } from '../cluster/kubeherald.ts'
import { type ChangeFeed, startChangeFeed } from '../servers/change-feed.ts'
import { type ReceivedRequest, type Receiver, startReceiver } from '../servers/receiver.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { kubeconfigFor } from '../watch/bed.ts'

export interface StageOptions {
  /** Names of webhook sinks, each at a path of its own; every change is sent to all of them. Default: `hook`. */
  sinks?: readonly string[]
  /** More of them, that no rule sends to. */
  withoutRule?: readonly string[]
  /** More options of a sink, as YAML in braces without these. */
  sinkOptions?: Record<string, string>
  redisArgs?: string[]
  /** More keys of the configuration, as YAML; `DIR` stands for a folder of this test. */
  more?: string
}

/** The delivery stage as a black box: a process on a real Redis, an API server that keeps its history, a receiver of all sinks. */
export interface Stage extends AsyncDisposable {
  redis: RedisServer
  feed: ChangeFeed
  hook: Receiver
  kubeherald: Kubeherald
  /** A folder of this test. */
  dir: string
  /** One more process of the same configuration. */
  startAnother(): Promise<Kubeherald>
  /** What a sink's receiver took, in order: requests that it answered with 200. */
  arrivals(sink?: string): Arrival[]
  /** The changes that a sink's receiver has not taken yet, without those of some objects. */
  missing(sink?: string, isMeant?: (entry: HistoryEntry) => boolean): string[]
  /** Waits until all of a sink's changes arrived, then compares sets and order with the history, and the ledger. */
  expectAll(sink: string, timeoutMs: number): Promise<void>
}

export async function startStage(options: StageOptions = {}): Promise<Stage> {
  const { sinks = ['hook'], withoutRule = [], sinkOptions = {}, redisArgs = [] } = options
  await using stack = new AsyncDisposableStack()
  const redis = stack.use(await startRedis({ args: redisArgs }))
  const feed = stack.use(await startChangeFeed())
  const hook = stack.use(await startReceiver())
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-stage-'))
  stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  const kubeconfig = join(dir, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigFor(feed.url))
  const urlOf = (sink: string) => `${hook.url}/${sink}`
  const config = `
cluster: test
redis: { url: "${redis.url}" }
watch: [ConfigMap]
sinks:
${[...sinks, ...withoutRule].map((it) => `  ${it}: { type: webhook, url: "${urlOf(it)}"${sinkOptions[it] ? `, ${sinkOptions[it]}` : ''} }`).join('\n')}
rules: [{ name: all, to: [${sinks}] }]
${(options.more ?? '').replaceAll('DIR', dir)}`
  const kubeherald = stack.use(await startKubeherald({ kubeconfig, config }))
  await waitFor(() => feed.watches() > 0, { what: 'the watch' })
  const others = stack.use(new AsyncDisposableStack())

  const arrivalsOf = new Map([...sinks, ...withoutRule].map((it) => [it, followArrivals(it, feed, hook)]))
  const of = (sink = sinks[0] as string) => arrivalsOf.get(sink) as FollowedArrivals
  const arrivals = (sink?: string) => of(sink).arrivals()
  const missing = (sink?: string, isMeant?: (entry: HistoryEntry) => boolean) => of(sink).missing(isMeant)
  const moved = stack.move()
  return {
    redis,
    feed,
    hook,
    kubeherald,
    dir,
    startAnother: async () => others.use(await startKubeherald({ kubeconfig, config })),
    arrivals,
    missing,
    async expectAll(sink, timeoutMs) {
      await waitFor(() => missing(sink).length === 0, {
        timeoutMs,
        what: () => `all changes for ${sink}; ${sayMissing(missing(sink), feed.history.length)}`,
      })
      const { repeated: _, ...found } = differences(feed.history, arrivals(sink))
      expect(found).toEqual({ missing: [], unexpected: [], outOfOrder: [] })
      const ledger = async () => (await kubeherald.status()).ledger
      await waitFor(async () => (await ledger()).sinks[sink]?.pending === 0, {
        what: `the lanes of ${sink} to be empty`,
      })
      const { sinks, balanced } = await ledger()
      const all = feed.history.length
      expect(sinks[sink]).toMatchObject({ enqueued: all, delivered: all, dead: 0, pending: 0 })
      expect(balanced).toBe(true)
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  }
}

interface FollowedArrivals {
  arrivals(): Arrival[]
  missing(isMeant?: (entry: HistoryEntry) => boolean): string[]
}

/** The object's name in a request. */
export const nameIn = (request: ReceivedRequest): string => arrivalIn(request).key.split('/').at(-1) ?? ''

/** What a sink's receiver took and what it lacks. Tests poll it, so it goes on from where it was. */
function followArrivals(sink: string, feed: ChangeFeed, hook: Receiver): FollowedArrivals {
  const lacking = new Map<string, HistoryEntry>()
  let unanswered: ReceivedRequest[] = []
  let seenRequests = 0
  let seenEntries = 0

  function follow(): void {
    const requests = hook.requests.slice(seenRequests)
    seenRequests += requests.length
    const own = [...unanswered, ...requests.filter(({ path }) => path.endsWith(`/${sink}`))]
    unanswered = own.filter(({ status }) => status === 0)
    for (; seenEntries < feed.history.length; seenEntries++) {
      const entry = feed.history[seenEntries] as HistoryEntry
      lacking.set(nameOf(entry), entry)
    }
    for (const request of own) if (request.status === 200) lacking.delete(nameOf(arrivalIn(request)))
  }

  return {
    arrivals: () =>
      hook.requests.filter(({ status, path }) => status === 200 && path.endsWith(`/${sink}`)).map(arrivalIn),
    missing(isMeant = () => true) {
      follow()
      return [...lacking].filter(([, entry]) => isMeant(entry)).map(([name]) => name)
    },
  }
}

export const sayMissing = (missing: readonly string[], of: number) =>
  `${missing.length} of ${of} are missing, such as ${missing.slice(0, 3).join(', ')}`

export const isOf =
  (name: string) =>
  ({ key }: HistoryEntry) =>
    key.endsWith(`/${name}`)

/** Changes objects by name so many times a second for so many seconds; creates those that are not there. */
export async function changeSteadily(
  feed: ChangeFeed,
  names: readonly string[],
  options: { perSecond: number; seconds: number; signal?: AbortSignal },
): Promise<void> {
  const known = new Set(feed.history.map(({ key }) => key.split('/').at(-1)))
  const startedMs = performance.now()
  const total = options.perSecond * options.seconds
  for (let i = 0; i < total && !options.signal?.aborted; ) {
    const due = ((performance.now() - startedMs) / 1_000) * options.perSecond
    for (; i < Math.min(due, total); i++) {
      const name = names[i % names.length] as string
      feed.change(known.has(name) ? 'MODIFIED' : 'ADDED', name)
      known.add(name)
    }
    await pause(5)
  }
}

/** Changes come until the test has what it waits for, however long that takes. */
export function startLoad(
  feed: ChangeFeed,
  names: readonly string[],
  perSecond: number,
): { stop(): Promise<void> } {
  const end = new AbortController()
  const load = changeSteadily(feed, names, { perSecond, seconds: 150, signal: end.signal })
  return {
    stop() {
      end.abort()
      return load
    },
  }
}

export const named = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${prefix}-${i}`)
