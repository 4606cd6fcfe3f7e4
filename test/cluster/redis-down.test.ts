import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { startBed } from './bed.ts'
import { differences, exactly } from './compare.ts'
import { CONFIG_MAPS, churn, manifest } from './workload.ts'

for (const fsync of ['everysec', 'always']) {
  test(`acceptance 6: Redis is killed and restarted under load (appendfsync ${fsync}) and nothing is lost`, async () => {
    await using bed = await startBed({ redisArgs: ['--appendfsync', fsync] })
    for (let round = 0; round < 3; round++) {
      const before = bed.hook.requests.length
      // As fast as it goes, so that commits are on their way when Redis ends.
      const load = churn(bed.kubernetes, [CONFIG_MAPS], { count: 80, parallel: 8, prefix: `round-${round}` })
      await waitFor(() => bed.hook.requests.length > before + 30, { what: 'the load to flow' })
      await bed.redis.kill()
      await waitFor(async () => !(await bed.kubeherald.ready()), { what: 'readiness to be false' })
      await bed.redis.restart()
      await load
    }
    const history = await bed.allArrived()
    const { missing, unexpected, outOfOrder } = differences(history, bed.arrivals())
    expect({ missing, unexpected, outOfOrder }).toEqual({ missing: [], unexpected: [], outOfOrder: [] })
    await waitFor(() => bed.kubeherald.ready(), { what: 'readiness to be true again' })
    const { ledger } = await bed.kubeherald.status()
    expect(ledger.balanced).toBe(true)
    expect(ledger.sinks.hook.enqueued).toBe(history.length)
  })
}

test('acceptance 6: a full Redis pauses the watches, workers drain, and everything arrives once there is room', async () => {
  // More than the gate lets in: nothing of it is given up.
  const sinks = ({ url }: { url: string }) =>
    `{ hook: { type: webhook, url: "${url}", queue: { maxBytes: 9MB } } }`
  await using bed = await startBed({ redisArgs: ['--maxmemory', '10mb'], sinks })
  const { kubernetes, kubeherald, redis, hook } = bed
  const info = async (field: string) =>
    Number(new RegExp(`${field}:(\\d+)`).exec(String(await redis.command('INFO', 'memory')))?.[1])
  await waitFor(() => redis.command('EXISTS', '{kubeherald:test}:ballast'), { what: 'the ballast' })
  hook.answer(() => ({ status: 503 }))
  const noise = () => randomBytes(20_000).toString('base64')
  const write = (i: number) =>
    kubernetes.request('POST', CONFIG_MAPS, {
      ...manifest(CONFIG_MAPS, `big-${i}`, 0),
      data: { noise: noise() },
    })
  let written = 0
  const full = async () => !(await kubeherald.ready())
  while (!(await full()) && written < 1_000) await write(written++)
  for (const end = written + 30; written < end; written++) await write(written)
  // Others on the same Redis take the last room: now no write succeeds any more.
  await redis.command('CONFIG', 'SET', 'maxmemory', String((await info('used_memory')) - 20_000))
  // Heartbeats, too, are refused: calls that would make room must not wait for them.
  const ballast = async () => Number(await redis.command('EXISTS', '{kubeherald:test}:ballast'))
  await waitFor(async () => (await ballast()) === 0, { what: 'the ballast to make room' })
  hook.answer(() => ({ status: 200 }))
  const delivered = () => hook.requests.filter(({ status }) => status === 200).length
  await waitFor(() => delivered() >= 100, {
    timeoutMs: 60_000,
    what: () => `the workers to drain; ${delivered()} delivered`,
  })
  await redis.command('CONFIG', 'SET', 'maxmemory', String(64 * 1024 * 1024))
  await bed.allArrived()
  expect(new Set(bed.arrivals().map(({ key }) => key)).size).toBe(written)
  await waitFor(() => kubeherald.ready(), { timeoutMs: 30_000, what: 'readiness to be true again' })
  expect((await kubeherald.status()).ledger.balanced).toBe(true)
})

test('acceptance 6, case 42: Redis is gone for a while; reading pauses, then exactly everything arrives', async () => {
  await using bed = await startBed()
  await churn(bed.kubernetes, [CONFIG_MAPS], { count: 20, parallel: 4, prefix: 'before' })
  await bed.allArrived()
  await bed.redis.kill()
  await churn(bed.kubernetes, [CONFIG_MAPS], { count: 60, parallel: 8, prefix: 'meanwhile' })
  await waitFor(async () => !(await bed.kubeherald.ready()), { what: 'readiness to be false' })
  await bed.redis.restart()
  const history = await bed.allArrived()
  expect(differences(history, bed.arrivals())).toEqual(exactly())
})
