import { Redis } from 'ioredis'
import { z } from 'zod'
import { type App, startApp } from '../../../src/app/app.ts'
import type { Config } from '../../../src/config/schema.ts'
import { silentLog } from '../../../src/observe/log.ts'
import { defineSink, type SinkType } from '../../../src/sink/index.ts'
import { builtInSinks } from '../../../src/sink-types.ts'
import { encodeEntries } from '../../../src/store/entry.ts'
import { keysOf } from '../../../src/store/keys.ts'
import { loadText } from '../../config/load-text.ts'
import type { RedisServer } from '../../servers/redis.ts'
import { headerFor } from '../../store/objects.ts'

/** A type whose sinks count how many of them are open. */
function counted(type: string) {
  let open = 0
  const sinkType = defineSink({
    apiVersion: 1,
    type,
    config: z.strictObject({ mark: z.string().default(''), refuse: z.boolean().default(false) }),
    open({ refuse }, { metrics }) {
      if (refuse) throw new Error('no room')
      metrics.counter('made_total', 'Sinks.')()
      open++
      return {
        deliver: async (batch) => batch.map(() => ({ kind: 'delivered' as const })),
        async close() {
          open--
        },
      }
    },
  })
  return { type: sinkType as SinkType, open: () => open }
}

export const one = counted('one')
export const two = counted('two')
const TYPES = { one: one.type, two: two.type }

/** `more` are further lines of the file. */
export async function configOf(sinks: string, rules: string, more = ''): Promise<Config> {
  const own = Object.fromEntries(Object.entries(TYPES).map(([name, type]) => [name, async () => type]))
  const sinkTypes = { ...builtInSinks, ...own }
  const text = `server: { port: 0 }\nwatch: [Pod, Event]\nsinks: ${sinks}\nrules: ${rules}\n${more}`
  const loaded = await loadText(text, { sinkTypes })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded.config
}

/** Everything but the cluster. */
export async function start(redis: RedisServer, config: Config): Promise<App & AsyncDisposable> {
  const parts = { cluster: 'test', role: 'all', redis: { url: redis.url }, log: silentLog } as const
  const app = await startApp({ ...parts, config, sinkTypes: TYPES })
  return Object.assign(app, { [Symbol.asyncDispose]: async () => void (await app.stop()) })
}

/** How many series its metrics have. */
export const seriesOf = async ({ metrics }: App) => (await metrics.registry.metrics()).split('\n')

/** A delivery of a rule in a lane of a sink, as a commit leaves it there. */
export async function enqueue(redis: RedisServer, sink: string, rule: string): Promise<void> {
  const keys = keysOf('test')
  const lane = `${sink}/0`
  const event = { ...headerFor('web', '1', 'MODIFIED', 'uid-web'), time: new Date().toISOString() }
  const client = new Redis(redis.url)
  try {
    const multi = client.multi()
    for (const { count, observedAtMs, payload } of encodeEntries([
      { sink, rule, event, objectJson: Buffer.from('{}') },
    ]))
      multi.xadd(keys.lane(lane), '*', 'n', count, 't', observedAtMs, 'z', payload)
    multi.hincrby(keys.pending, lane, 1)
    multi.hincrby(keys.sinkLedger(sink), 'enqueued', 1)
    await multi.exec()
  } finally {
    client.disconnect()
  }
}
