import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { encodeEntries } from '../../src/store/entry.ts'
import { keysOf } from '../../src/store/keys.ts'
import { readLane } from '../../src/store/lanes/read-lane.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { checkRedis } from '../../src/store/redis/requirements.ts'
import { startRedis } from '../servers/redis.ts'
import { headerFor } from '../store/objects.ts'
import { configuration, openDesk } from './cli.ts'
import { runHere } from './here.ts'

/** What a Role may be called, and what a receiver may answer. */
const HOSTILE = 'r\u001b[2J\u001b]0;t\u0007\nALL WELL\u009b31m\u202e'

test('neither names of objects nor answers of receivers move the cursor or begin a line', async () => {
  using desk = openDesk()
  await using server = await startRedis()
  const redis = openRedis(server.url, 'work', silentLog)
  await using _ = { [Symbol.asyncDispose]: async () => redis.disconnect() }
  const keys = keysOf('here')
  await checkRedis({ redis, keys })
  const event = { ...headerFor(HOSTILE, '7', 'MODIFIED', 'u'), namespace: HOSTILE, kind: HOSTILE }
  const object = { metadata: { name: HOSTILE } }
  const objectJson = Buffer.from(JSON.stringify(object))
  const [entry] = encodeEntries([{ sink: 'hook', rule: 'all', event, objectJson }])
  const about = ['sink', 'hook', 'lane', 'hook/0', 'rule', 'all', 'reason', 'rejected', 'detail', HOSTILE]
  const payload = entry?.payload ?? Buffer.alloc(0)
  const id = String(await redis.xadd(keys.deadLetters, '*', ...about, 'at', Date.now(), 'z', payload))
  desk.write('kubeherald.yaml', configuration(`cluster: here\nredis: { url: "${server.url}" }`))

  const list = await runHere(desk, 'dead-letters', 'list')
  expect(list.stdout.trim().split('\n')).toHaveLength(2)
  const show = await runHere(desk, 'dead-letters', 'show', id)
  expect(show.stdout).toContain('ALL WELL')
  const listJson = await runHere(desk, 'dead-letters', 'list', '--json')
  const showJson = await runHere(desk, 'dead-letters', 'show', id, '--json')
  for (const { code, stdout } of [list, show, listJson, showJson]) {
    expect(code).toBe(0)
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
    expect(stdout).not.toMatch(/^ALL WELL/m)
  }
  expect(JSON.parse(listJson.stdout)).toMatchObject({ name: HOSTILE, detail: HOSTILE })
  expect(JSON.parse(showJson.stdout)).toMatchObject({ object })
})

test('a digest, and what was suppressed before a delivery, are told', async () => {
  using desk = openDesk()
  await using server = await startRedis()
  const redis = openRedis(server.url, 'work', silentLog)
  await using _ = { [Symbol.asyncDispose]: async () => redis.disconnect() }
  const keys = keysOf('here')
  await checkRedis({ redis, keys })
  const event = headerFor('web', '7', 'MODIFIED', 'u')
  const { id, type, kind, name, time } = event
  const items = [{ id, type, kind, name, time }]
  const notice = { kind: 'digest' as const, count: 12, by: [], from: time, to: time, items }
  const suppressed = { count: 3, since: time }
  const [entry] = encodeEntries([
    { sink: 'hook', rule: 'all', event, notice, suppressed, objectJson: Buffer.from('{}') },
  ])
  const about = ['sink', 'hook', 'lane', 'hook/0', 'rule', 'all', 'reason', 'rejected', 'detail', '400']
  const payload = entry?.payload ?? Buffer.alloc(0)
  const letter = String(await redis.xadd(keys.deadLetters, '*', ...about, 'at', Date.now(), 'z', payload))
  desk.write('kubeherald.yaml', configuration(`cluster: here\nredis: { url: "${server.url}" }`))
  expect((await runHere(desk, 'dead-letters', 'list')).stdout).toContain(
    'digest of 12: ConfigMap default/web',
  )
  const { stdout } = await runHere(desk, 'dead-letters', 'show', letter)
  expect(stdout).toMatch(/^notice +digest of 12$/m)
  expect(stdout).toMatch(/^suppressed before +3 since 2025-/m)
  const json = await runHere(desk, 'dead-letters', 'show', letter, '--json')
  expect(JSON.parse(json.stdout)).toMatchObject({ notice: { kind: 'digest', count: 12 }, suppressed })
})

test('a dead letter that cannot be read is listed, shown with its bytes, retried and dropped', async () => {
  using desk = openDesk()
  await using server = await startRedis()
  const redis = openRedis(server.url, 'work', silentLog)
  await using _ = { [Symbol.asyncDispose]: async () => redis.disconnect() }
  const keys = keysOf('here')
  await checkRedis({ redis, keys })
  const about = ['sink', 'hook', 'lane', 'hook/0', 'rule', '', 'reason', 'unreadable', 'detail', 'torn']
  const payload = Buffer.from([7, 0, 255])
  await redis.hset(keys.sinkLedger('hook'), { enqueued: 3, dead: 3 })
  await redis.hset(keys.pending, 'hook/0', 0)
  const id = String(await redis.xadd(keys.deadLetters, '*', ...about, 'at', Date.now(), 'z', payload, 'n', 3))
  const foreign = String(await redis.xadd(keys.deadLetters, '*', 'x', 'y'))
  desk.write('kubeherald.yaml', configuration(`cluster: here\nredis: { url: "${server.url}" }`))

  const list = await runHere(desk, 'dead-letters', 'list')
  expect(list.code).toBe(0)
  expect(list.stdout).toMatch(/^\S+ .* hook .* unreadable +torn$/m)
  const listJson = await runHere(desk, 'dead-letters', 'list', '--json', '--sink', 'hook')
  expect(JSON.parse(listJson.stdout)).toMatchObject({ id, reason: 'unreadable', deliveries: 3 })
  expect((await runHere(desk, 'dead-letters', 'show', id)).stdout).toContain(payload.toString('base64'))
  const showJson = await runHere(desk, 'dead-letters', 'show', id, '--json')
  expect(JSON.parse(showJson.stdout)).toMatchObject({ lane: 'hook/0', payload: payload.toString('base64') })

  const retry = await runHere(desk, 'dead-letters', 'retry', '--all')
  expect(retry.stdout).toMatch(/^1 dead letter/)
  expect(retry.stderr).toContain(foreign)
  const status = await runHere(desk, 'status', '--verify', '--json')
  expect(JSON.parse(status.stdout).ledger).toMatchObject({
    sinks: { hook: { enqueued: 3, dead: 0, pending: 3 } },
    balanced: true,
    verified: true,
  })
  expect((await runHere(desk, 'dead-letters', 'drop', foreign)).stdout).toContain('1 dead letter dropped')
})

test('all dead letters of one sink are retried, the oldest first, or dropped; those of others stay', async () => {
  using desk = openDesk()
  await using server = await startRedis()
  const redis = openRedis(server.url, 'work', silentLog)
  await using _ = { [Symbol.asyncDispose]: async () => redis.disconnect() }
  const keys = keysOf('here')
  await checkRedis({ redis, keys })
  const put = async (sink: string, version: number) => {
    const event = headerFor('web', String(version), 'MODIFIED', 'u')
    const [entry] = encodeEntries([{ sink, rule: 'all', event, objectJson: Buffer.from('{}') }])
    const about = ['sink', sink, 'lane', `${sink}/n0`, 'rule', 'all', 'reason', 'rejected', 'detail', '400']
    await redis.xadd(keys.deadLetters, '*', ...about, 'at', Date.now(), 'z', entry?.payload ?? '')
  }
  for (let version = 1; version <= 50; version++)
    for (const sink of ['hook', 'other']) await put(sink, version)
  const sinks = '{ hook: { type: stdout }, other: { type: stdout } }'
  desk.write(
    'kubeherald.yaml',
    `cluster: here\nredis: { url: "${server.url}" }\nwatch: [Event]\nsinks: ${sinks}\nrules: [{ name: all, to: [hook, other] }]\n`,
  )
  const retried = await runHere(desk, 'dead-letters', 'retry', '--all', '--sink', 'hook')
  expect(retried).toMatchObject({ code: 0, stdout: expect.stringContaining('50 dead letters') })
  const { entries } = await readLane(redis, keys, 'hook/n0', '-', 1_000)
  const versions = entries.flatMap(({ items }) =>
    items.map((it) => Number(it.delivery.event.resourceVersion)),
  )
  expect(versions).toEqual(Array.from({ length: 50 }, (_, i) => i + 1))
  expect(await redis.xlen(keys.deadLetters)).toBe(50)
  const dropped = await runHere(desk, 'dead-letters', 'drop', '--sink', 'other')
  expect(dropped).toMatchObject({ code: 0, stdout: expect.stringContaining('50 dead letters') })
  expect(await redis.xlen(keys.deadLetters)).toBe(0)
  expect((await runHere(desk, 'dead-letters', 'drop')).code).toBe(2)
})

test('dead letters are counted, retried and dropped by sink, reason and rule', async () => {
  using desk = openDesk()
  await using server = await startRedis()
  const redis = openRedis(server.url, 'work', silentLog)
  await using _ = { [Symbol.asyncDispose]: async () => redis.disconnect() }
  const keys = keysOf('here')
  await checkRedis({ redis, keys })
  const put = async (rule: string, reason: string, detail: string, atMs: number) => {
    const event = headerFor(`${rule}-${atMs}`, '1', 'MODIFIED', 'u')
    const [entry] = encodeEntries([{ sink: 'hook', rule, event, objectJson: Buffer.from('{}') }])
    const about = ['sink', 'hook', 'lane', 'hook/n0', 'rule', rule, 'reason', reason, 'detail', detail]
    await redis.xadd(keys.deadLetters, '*', ...about, 'at', atMs, 'z', entry?.payload ?? '')
    for (const field of ['enqueued', 'dead']) await redis.hincrby(keys.sinkLedger('hook'), field, 1)
  }
  await redis.hset(keys.pending, 'hook/n0', 0)
  await put('a', 'rejected', '400', 1_000)
  await put('b', 'expired', 'late', 2_000)
  await put('a', 'rejected', '413', 3_000)
  await put('b', 'rejected', '422', 4_000)
  desk.write('kubeherald.yaml', configuration(`cluster: here\nredis: { url: "${server.url}" }`))
  const run = (...args: string[]) => runHere(desk, 'dead-letters', ...args)
  const lines = (text: string) => text.split('\n').filter(Boolean)

  const groups = await run('list', '--group', '-o', 'json')
  expect(lines(groups.stdout).map((it) => JSON.parse(it))).toEqual([
    {
      ...{ sink: 'hook', reason: 'rejected', count: 3, deliveries: 3, detail: '422' },
      ...{ oldest: '1970-01-01T00:00:01.000Z', newest: '1970-01-01T00:00:04.000Z' },
    },
    expect.objectContaining({ reason: 'expired', count: 1 }),
  ])
  expect(lines((await run('list', '--group', '--rule', 'b')).stdout)).toHaveLength(3)
  expect(lines((await run('list', '--reason', 'rejected', '--json')).stdout)).toHaveLength(3)

  expect((await run('retry', '--reason', 'rejected', '--rule', 'a')).stdout).toMatch(/^2 dead letters/)
  const { entries } = await readLane(redis, keys, 'hook/n0', '-', 1_000)
  expect(entries.flatMap(({ items }) => items.map((it) => it.delivery.event.name))).toEqual([
    'a-1000',
    'a-3000',
  ])
  expect((await run('drop', '--sink', 'hook', '--reason', 'expired')).stdout).toMatch(/^1 dead letter/)
  expect(lines((await run('list', '--json')).stdout).map((it) => JSON.parse(it).rule)).toEqual(['b'])
  const status = await runHere(desk, 'status', '--verify', '--json')
  expect(JSON.parse(status.stdout).ledger).toMatchObject({ balanced: true, verified: true })

  for (const wrong of [
    ['retry', '--reason', 'rejectd'],
    ['drop', '1-0', '--sink', 'hook'],
  ])
    expect((await run(...wrong)).code).toBe(2)
})
