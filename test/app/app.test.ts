import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { startApp } from '../../src/app/app.ts'
import type { Config } from '../../src/config/schema.ts'
import { silentLog } from '../../src/observe/log.ts'
import { defineSink, type SinkType } from '../../src/sink/index.ts'
import type { ClusterClient } from '../../src/watch/client/cluster-client.ts'
import { freePort } from '../servers/ports.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'

afterEach(() => vi.unstubAllEnvs())

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
  await allDisconnected(redis)
})

test('a start that fails after the pipeline started closes that, too', async () => {
  await using redis = await startRedis()
  vi.stubEnv('POD_NAMESPACE', undefined)
  let asked = 0
  const cluster = hangingCluster()
  const opened = openedSink()
  const start = startApp({
    ...{ config: configWith('opened', redis.url, await freePort()), cluster: 'test', role: 'all' },
    ...{ redis: { url: redis.url }, log: silentLog, sinkTypes: { opened: opened.type } },
    client: cluster.client,
    /** Asked for by the pipeline, and by a part that starts after it. */
    get namespace(): string {
      if (asked++ > 0) throw new Error('no namespace')
      return 'default'
    },
  })
  await expect(start).rejects.toThrow('no namespace')
  await allDisconnected(redis)
  await waitFor(() => cluster.open() === 0, { what: 'the requests of the watches to end' })
  expect(opened.state).toEqual({ asksHealth: false, isClosed: true })
})

test('a stop closes all parts, although one cannot be closed', async () => {
  await using redis = await startRedis()
  const cluster = hangingCluster()
  const opened = openedSink()
  const port = await freePort()
  const app = await startApp({
    ...{ config: configWith('opened', redis.url, port), cluster: 'test', role: 'all' },
    ...{ redis: { url: redis.url }, log: silentLog, sinkTypes: { opened: opened.type } },
    client: { ...cluster.client, close: () => Promise.reject(new Error('no end')) },
  })
  await expect(app.stop()).rejects.toThrow('no end')
  expect(cluster.open()).toBe(0)
  expect(opened.state).toEqual({ asksHealth: false, isClosed: true })
  await allDisconnected(redis)
  await expect(fetch(`http://127.0.0.1:${port}/livez`)).rejects.toThrow()
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

async function allDisconnected(redis: RedisServer): Promise<void> {
  const clients = async () =>
    String(await redis.command('CLIENT', 'LIST', 'TYPE', 'normal'))
      .trim()
      .split('\n')
  await waitFor(async () => (await clients()).length === 1, { what: 'all connections to Redis to be closed' })
}

/** A cluster that answers no request. */
function hangingCluster() {
  let open = 0
  const hang = (signal: AbortSignal | undefined) => {
    open++
    const { promise, reject } = Promise.withResolvers<never>()
    const end = () => {
      open--
      reject(new Error('aborted'))
    }
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end, { once: true })
    return promise
  }
  const client: ClusterClient = {
    url: 'https://cluster',
    get: (_path, _options, signal) => hang(signal),
    send: (_method, _path, _body, _options, signal) => hang(signal),
    stream: (_path, _options, signal) => hang(signal),
    refresh: async () => {},
    close: async () => {},
  }
  return { client, open: () => open }
}

/** A sink whose check of health ends when it is aborted. */
function openedSink() {
  const state = { asksHealth: false, isClosed: false }
  const type = defineSink({
    apiVersion: 1,
    type: 'opened',
    config: z.strictObject({}),
    open: () => ({
      deliver: async () => [],
      async health(signal) {
        state.asksHealth = true
        await new Promise((end) => signal.addEventListener('abort', end, { once: true }))
        state.asksHealth = false
        return { ok: true }
      },
      async close() {
        state.isClosed = true
      },
    }),
  })
  return { type: type as SinkType, state }
}
