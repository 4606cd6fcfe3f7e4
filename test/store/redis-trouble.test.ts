import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { expect, test, vi } from 'vitest'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { startLine } from './line-bed.ts'

vi.setConfig({ testTimeout: 300_000 })

const KEY = '{kubeherald:test}'

/** A real process, and what it shows of its Redis. */
async function startTrouble(args: string[] = []) {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await startRedis({ args }))
  const line = stack.use(await startLine({ redis: `{ url: "${server.url}" }` }))
  const { kubeherald } = line
  line.frame('ADDED', 'first', 11)
  await waitFor(() => line.told().length === 1 && line.chatted().length === 1, { what: 'a first delivery' })
  const readyz = async () => (await request(`${kubeherald.url}/readyz`)).body.text()
  const moved = stack.move()
  return {
    server,
    line,
    /** Waits until the log, /readyz, the metric and `status` all show it; what `status` printed (processes report to it every few seconds). */
    async shows(text: string, inStatus = text): Promise<string> {
      await waitFor(async () => (await readyz()).includes(text), {
        timeoutMs: 30_000,
        what: () => `${text} in /readyz; it logged:\n${kubeherald.log().slice(-2_000)}`,
      })
      expect(await kubeherald.ready()).toBe(false)
      expect(kubeherald.log()).toContain(text)
      const metric = async () => (await kubeherald.metrics()).includes('kubeherald_redis_trouble 1')
      await waitFor(metric, { what: 'the metric' })
      let printed = ''
      const status = async () => {
        printed = (await kubeherald.command('status')).stdout
        return printed.includes(inStatus)
      }
      await waitFor(status, { timeoutMs: 30_000, what: () => `${inStatus} in ${printed}` })
      return printed
    },
    async isOver(): Promise<void> {
      await waitFor(() => kubeherald.ready(), { timeoutMs: 30_000, what: '/readyz to be ok' })
      await waitFor(async () => (await kubeherald.metrics()).includes('kubeherald_redis_trouble 0'), {
        what: 'the metric to be 0',
      })
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  }
}

async function lanesOf(server: RedisServer): Promise<string[]> {
  const pending = (await server.command('HGETALL', `${KEY}:pending`)) as string[]
  const lanes = pending.filter((_, i) => i % 2 === 0 && Number(pending[i + 1]) > 0)
  return lanes.map((lane) => `${KEY}:lane:${lane}`)
}

test.concurrent('foreign lanes, a damaged checkpoint and an eviction policy are shown while they last, and lose nothing', async () => {
  await using it = await startTrouble()
  const { server, line } = it
  await waitFor(async () => (await lanesOf(server)).length === 0, { what: 'the first acknowledgements' })
  // Any object may go to any lane of its sink.
  const all = Array.from({ length: 16 }, (_, i) =>
    ['hook', 'chat'].map((sink) => `${KEY}:lane:${sink}/n${i}`),
  ).flat()
  for (const lane of all) await server.command('SET', lane, 'foreign')
  for (let i = 0; i < 5; i++) line.frame('ADDED', `o${i}`, 20 + i)
  await it.shows(`${KEY}:lane:`)
  for (const lane of all) await server.command('DEL', lane)
  await waitFor(() => line.told().length === 6, { timeoutMs: 30_000, what: 'all deliveries' })
  await it.isOver()
  const { ledger } = await line.kubeherald.status()
  expect(ledger).toMatchObject({ balanced: true, verified: true })

  // Garbage in a checkpoint.
  const keys = (await it.server.command('KEYS', `${KEY}:checkpoint:*`)) as string[]
  const key = keys[0] ?? ''
  const before = String(await it.server.command('GET', key))
  await it.server.command('SET', key, 'garbage')
  await it.shows(key, 'redis-cli DEL')
  await it.server.command('SET', key, before)
  await it.isOver()

  // An eviction policy that is set while it runs.
  await it.server.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
  await it.shows('allkeys-lru')
  await it.server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
  await it.isOver()
})

test.concurrent('a Redis that does not answer is down, and no Redis that refuses writes', async () => {
  await using it = await startTrouble()
  const { server, line } = it
  await server.kill()
  line.frame('ADDED', 'second', 20)
  const metrics = () => line.kubeherald.metrics()
  // A commit waits for longer than the process takes to report it.
  await waitFor(async () => /^kubeherald_commit_waiting_seconds ([5-9]|\d{2})/m.test(await metrics()), {
    timeoutMs: 60_000,
    what: 'a commit that waits',
  })
  await waitFor(async () => (await metrics()).includes('kubeherald_redis_up 0'), { what: 'the metric' })
  expect(await line.kubeherald.ready()).toBe(false)
  expect(await metrics()).toContain('kubeherald_redis_trouble 0')
  await server.restart()
  await it.isOver()
})

/** Of 8 MB; undefined where this user may not mount one. */
function smallDisk() {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-disk-'))
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', dir])
  return {
    dir,
    isMounted: status === 0,
    [Symbol.dispose]() {
      if (status === 0) spawnSync('umount', ['-l', dir])
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

test.concurrent('a full disk under Redis is shown, and all goes on by itself when there is room', async ({
  skip,
}) => {
  using disk = smallDisk()
  if (!disk.isMounted) skip('no permissions to mount a small disk')
  await using it = await startTrouble(['--dir', disk.dir])
  const { server, line } = it
  const filler = join(disk.dir, 'filler')
  spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k'])
  line.frame('ADDED', 'second', 20)
  expect(await it.shows('MISCONF', 'append-only file')).not.toContain('another process')
  writeFileSync(filler, '')
  await waitFor(() => line.told().length === 2 && line.chatted().length === 2, {
    timeoutMs: 60_000,
    what: () => `the second delivery, not ${line.told()}`,
  })
  await it.isOver()
  expect((await line.kubeherald.status()).ledger).toMatchObject({ balanced: true, verified: true })
  expect(String(await server.command('INFO', 'persistence'))).toContain('aof_last_write_status:ok')
})
