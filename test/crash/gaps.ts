import type { Bed } from '../cluster/bed.ts'
import { currentRevision } from '../cluster/etcd-history.ts'
import { waitFor } from '../wait-for.ts'
import type { Gap } from './verdict.ts'

/** Notes from where to where each loss of the API server's history may have collapsed changes. */
export interface GapLog {
  /** Before the server dies: every watch stands at this position or behind it. */
  open(): Promise<void>
  /** After the server is back: a watch that stands before this may have to list. */
  restarted(): Promise<void>
  /** Waits until all watches are past every gap. */
  close(): Promise<readonly Gap[]>
}

interface OpenGap extends Gap {
  restartedAt?: bigint
  /** Checkpoint → where it stood when it had left the gap. */
  left: Map<string, bigint>
  closed?: true
}

export function createGapLog(
  { redis, kubernetes }: Pick<Bed, 'redis' | 'kubernetes'>,
  collections: readonly string[],
): GapLog {
  const gaps: OpenGap[] = []

  async function positions(): Promise<Map<string, { at: bigint; isListing: boolean }>> {
    const keys = (await redis.command('KEYS', '{kubeherald:test}:checkpoint:*')) as string[]
    const texts = await Promise.all(keys.map((key) => redis.command('GET', key)))
    const read = (text: unknown) => {
      const { resourceVersion, phase } = JSON.parse(String(text))
      return { at: BigInt(resourceVersion), isListing: phase !== 'watching' }
    }
    return new Map(keys.map((key, i) => [key, read(texts[i])]))
  }

  async function look(): Promise<boolean> {
    const open = gaps.filter(({ closed, restartedAt }) => !closed && restartedAt !== undefined)
    // Redis is down at times.
    const now = open.length > 0 ? await positions().catch(() => undefined) : undefined
    for (const gap of now ? open : []) {
      for (const [key, { at, isListing }] of now ?? []) {
        // A list that is interrupted begins anew, at a later position.
        if (!isListing && at >= (gap.restartedAt as bigint) && !gap.left.has(key)) gap.left.set(key, at)
      }
      if (gap.left.size < (now?.size ?? 0)) continue
      gap.until = [...gap.left.values()].reduce((a, b) => (a > b ? a : b))
      gap.closed = true
    }
    return gaps.every(({ closed }) => closed)
  }

  const timer = setInterval(() => void look(), 100)
  return {
    async open() {
      const now = [...(await positions()).values()].map(({ at }) => at)
      gaps.push({ after: now.reduce((a, b) => (a < b ? a : b)), until: 0n, left: new Map() })
    },
    async restarted() {
      // The server's history of a resource begins when it is asked for the first time, and not when the server is ready.
      await Promise.all(collections.map((collection) => served(kubernetes, collection)))
      const gap = gaps.at(-1)
      if (gap) gap.restartedAt = BigInt(await currentRevision(kubernetes.etcdUrl))
    },
    async close() {
      await waitFor(look, { timeoutMs: 120_000, what: 'all watches to be past the last gap' })
      clearInterval(timer)
      return gaps.map(({ after, until }) => ({ after, until }))
    },
  }
}

/** Waits until watches of the collection are served. */
async function served({ request }: Pick<Bed['kubernetes'], 'request'>, collection: string): Promise<void> {
  const watch = `${collection}?watch=true&resourceVersion=0&timeoutSeconds=1`
  const isServed = () =>
    request('GET', watch).then(
      () => true,
      // Of several frames, which are no JSON together.
      (error) => error instanceof SyntaxError,
    )
  await waitFor(isServed, { timeoutMs: 60_000, what: `watches of ${collection}` })
}
