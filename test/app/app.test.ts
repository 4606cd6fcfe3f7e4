import { expect, test } from 'vitest'
import { z } from 'zod'
import { startApp } from '../src/app.ts'
import type { Config } from '../src/config/schema.ts'
import { silentLog } from '../src/log.ts'
import { defineSink, type SinkType } from '../src/sink/index.ts'
import { freePort } from './servers/ports.ts'
import { startRedis } from './servers/redis.ts'
import { waitFor } from './wait-for.ts'

const never = defineSink({
  apiVersion: 1,
  type: 'never',
  config: z.strictObject({}),
  open() {
    throw new Error('cannot be opened')
  },
})

test('a start that fails closes what it had opened', async () => {
  await using redis = await startRedis()
  const port = await freePort()
  const config: Config = {
    kubernetes: {},
    leases: false,
    redis: { url: redis.url },
    server: { host: '127.0.0.1', port },
    watch: [{ kind: 'Pod' }],
    sinks: [{ name: 'out', type: 'never', options: {}, source: '' }],
    rules: [{ name: 'all', when: {}, to: ['out'] }],
    routes: new Map(),
  }
  const options = { config, cluster: 'test', role: 'all', redis: { url: redis.url }, log: silentLog } as const
  const start = () => startApp({ ...options, sinkTypes: { never: never as SinkType } })
  await expect(start()).rejects.toThrow('cannot be opened')
  // The port is free again: the second start gets as far as the first.
  await expect(start()).rejects.toThrow('cannot be opened')
  const clients = async () =>
    String(await redis.command('CLIENT', 'LIST', 'TYPE', 'normal'))
      .trim()
      .split('\n')
  await waitFor(async () => (await clients()).length === 1, { what: 'all connections to Redis to be closed' })
})
