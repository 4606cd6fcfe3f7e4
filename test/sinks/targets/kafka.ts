import { idsIn, type Setup } from '../../../src/sink/testkit/index.ts'
import { startFakeCluster } from '../../servers/fake-broker.ts'

const NOT_ENOUGH_REPLICAS = 19

/** A broker that keeps every batch, also those that it refuses. */
export const kafkaSetup: Setup = {
  excused: {
    'health says that the peer is away': 'brokers that have too few replicas still answer for metadata',
  },
  async start() {
    const cluster = await startFakeCluster({ events: [0, 0, 0] })
    return {
      options: {
        brokers: cluster.brokers,
        topic: 'events',
        format: 'structured',
        compression: 'none',
        timeout: '2s',
      },
      received: () =>
        cluster.produced.flatMap(({ records }) =>
          records.flatMap(({ value }) => idsIn(value ?? '').slice(0, 1)),
        ),
      faults: {
        refuse: () => cluster.onProduce(() => ({ append: false, code: NOT_ENOUGH_REPLICAS })),
        hang: () => cluster.onProduce(() => ({ append: true, answer: 'none' })),
        restore: () => cluster.onProduce(() => undefined),
      },
      forget: cluster.forget,
      async stop() {
        await cluster[Symbol.asyncDispose]()
      },
    }
  },
}
