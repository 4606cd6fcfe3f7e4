import { startFakeCluster } from '../../servers/fake-broker.ts'
import type { Peer } from './peer.ts'

const PASSWORD = 'the-right-password'
const STORAGE_ERROR = 56
const THROTTLING_QUOTA_EXCEEDED = 89

/** A broker that keeps every batch in its log. */
export async function startKafkaPeer(): Promise<Peer> {
  const cluster = await startFakeCluster({ events: [0, 0, 0] })
  cluster.password = PASSWORD
  let ended = false
  const optionsWith = (password: string) => ({
    brokers: cluster.brokers,
    topic: 'events',
    format: 'structured',
    compression: 'none',
    timeout: '300ms',
    connectTimeout: '500ms',
    sasl: { mechanism: 'plain', username: 'herald', password },
  })
  return {
    type: 'kafka',
    options: () => optionsWith(PASSWORD),
    wrongOptions: () => optionsWith('a-wrong-password'),
    async begin(fault) {
      if (fault === 'unreachable') {
        await cluster.end(0)
        ended = true
      }
      if (fault === 'refuses') cluster.onProduce(() => ({ code: STORAGE_ERROR }))
      if (fault === 'hangs') cluster.onProduce(() => ({ append: false, answer: 'none' }))
      if (fault === 'cuts mid-answer') cluster.onProduce(() => ({ append: true, answer: 'cut' }))
      if (fault === 'throttles') cluster.onProduce(() => ({ code: THROTTLING_QUOTA_EXCEEDED }))
    },
    async mend() {
      cluster.onProduce(() => undefined)
      if (ended) await cluster.start(0)
      ended = false
    },
    took: async () =>
      cluster.log.map(({ value }) => {
        const { name, resourceversion } = JSON.parse(value ?? '{}') as Record<string, string>
        return `${name}@${resourceversion}`
      }),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  }
}
