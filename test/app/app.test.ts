import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { startApp } from '../../src/app/app.ts'
import type { Config } from '../../src/config/schema.ts'
import { silentLog } from '../../src/observe/log.ts'
import { defineSink, type SinkType } from '../../src/sink/index.ts'
import { freePort } from '../servers/ports.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'

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
  const config = configWith('never', redis.url, port)
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

test('a sink without deliveries is checked again each minute', async () => {
  await using redis = await startRedis()
  let checks = 0
  const checked = defineSink({
    apiVersion: 1,
    type: 'checked',
    config: z.strictObject({}),
    open: () => ({
      deliver: async () => [],
      async health() {
        checks++
        return { ok: true }
      },
      close: async () => {},
    }),
  })
  const config = configWith('checked', redis.url, await freePort())
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    const app = await startApp({
      ...{ config, cluster: 'test', role: 'deliver', redis: { url: redis.url }, log: silentLog },
      sinkTypes: { checked: checked as SinkType },
    })
    await waitFor(() => checks === 1, { what: 'the first check' })
    vi.advanceTimersByTime(60_000)
    await waitFor(() => checks === 2, { what: 'the second check' })
    await app.stop()
  } finally {
    vi.useRealTimers()
  }
})

function configWith(type: string, url: string, port: number): Config {
  return {
    kubernetes: {},
    leases: false,
    redis: { url },
    server: { host: '127.0.0.1', port },
    watch: [{ kind: 'Pod' }],
    sinks: [{ name: 'out', type, options: {}, source: '' }],
    rules: [{ name: 'all', when: {}, to: ['out'] }],
    routes: new Map(),
  }
}
