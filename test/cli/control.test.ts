import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { encodeState } from '../../src/store/limits/limit-states.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { checkRedis } from '../../src/store/redis/requirements.ts'
import { startRedis } from '../servers/redis.ts'
import { headerFor } from '../store/objects.ts'
import { configuration, openDesk } from './cli.ts'
import { runHere } from './here.ts'

async function open() {
  const stack = new AsyncDisposableStack()
  const desk = stack.use(openDesk())
  const server = stack.use(await startRedis())
  const redis = openRedis(server.url, 'work', silentLog)
  stack.defer(() => redis.disconnect())
  const keys = keysOf('here')
  await checkRedis({ redis, keys })
  desk.write('kubeherald.yaml', configuration(`cluster: here\nredis: { url: "${server.url}" }`))
  const run = (...args: string[]) => runHere(desk, ...args)
  const json = async (...args: string[]) => JSON.parse((await run(...args, '-o', 'json')).stdout || 'null')
  return { redis, keys, run, json, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

test('a silence is added, shown by list and status, and ended', async () => {
  await using it = await open()
  const beforeMs = Date.now()
  const added = await it.json(
    'silence',
    'add',
    '--match',
    'namespace=shop|pay',
    '--match',
    'sink=screen',
    '--for',
    '2h',
    '--by',
    'alice',
  )
  expect(added).toMatchObject({
    match: { namespace: ['shop', 'pay'], sink: 'screen' },
    by: 'cli:alice',
    reason: '',
  })
  expect(added.untilMs - added.fromMs).toBe(7_200_000)
  expect(added.fromMs).toBeGreaterThanOrEqual(beforeMs)
  expect(await it.json('silence', 'list')).toEqual({ ...added, state: 'active', suppressed: 0 })
  expect((await it.json('status')).silences).toMatchObject([{ id: added.id }])
  expect((await it.run('status')).stdout).toContain(added.id)
  await it.redis.hset(it.keys.silenceCounts, added.id, 4, `${added.id}:untested`, 3)
  expect(await it.json('silence', 'list')).toMatchObject({ suppressed: 4, untested: 3 })
  for (const command of [['silence', 'list'], ['status']])
    expect((await it.run(...command)).stdout).toMatch(/ 4, 3 /)
  expect(await it.run('silence', 'expire', added.id)).toMatchObject({ code: 0 })
  expect(await it.json('silence', 'list')).toBeNull()
  expect(await it.json('silence', 'list', '--ended')).toMatchObject({ id: added.id, state: 'ended' })
  expect(await it.run('silence', 'expire', 'none')).toMatchObject({ code: 2 })
})

test.each([
  [['--for', '1h'], '--match'],
  [['--match', 'namespace=shop'], '--for'],
  [['--match', 'namespace=shop', '--for', '1h', '--until', '2099-01-01T00:00:00Z'], '--until'],
  [['--match', 'namespace=shop', '--until', '2020-01-01T00:00:00Z'], '--until'],
  [['--match', 'namespace=shop', '--until', 'tomorrow'], '--until'],
  [
    ['--match', 'namespace=shop', '--from', '2090-01-01T00:00:00Z', '--until', '2089-01-01T00:00:00Z'],
    '--until',
  ],
  [['--match', 'nmaespace=shop', '--for', '1h'], 'namespace'],
  [['--match', 'rule=none', '--for', '1h'], '--match rule'],
  [['--match', 'sink=scren', '--for', '1h'], 'screen'],
])('silence add %j is refused and names %s', async (args, named) => {
  await using it = await open()
  const { code, stderr, stdout } = await it.run('silence', 'add', ...args)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(named)
  expect(await it.redis.hlen(it.keys.silences)).toBe(0)
})

test('incidents are listed, and acknowledged by id or by rule and object', async () => {
  await using it = await open()
  const header = { ...headerFor('web', '1', 'ADDED', 'u'), kind: 'Pod', namespace: 'shop' }
  const last = { header, object: '{}', sinks: ['hook'] }
  const state = {
    v: 1,
    limit: 'resolve-after',
    rule: 'all',
    waiting: 0,
    sinceMs: 5,
    lastMs: 6,
    last,
    about: [
      { kind: 'Pod', namespace: 'shop', name: 'web' },
      { kind: 'Pod', namespace: 'shop', name: 'web-0' },
    ],
    sent: 2,
  }
  const dueMs = Date.now() + 60_000
  const value = encodeState({ text: JSON.stringify(state), expiresAfterMs: 60_000, dueMs }, Date.now())
  await it.redis.set(it.keys.limit('all:x'), value)
  await it.redis.zadd(it.keys.limitTimers, dueMs, 'all:x')
  const incident = { rule: 'all', key: 'all:x', object: 'Pod shop/web', sinceMs: 5, notifications: 2 }
  expect(await it.json('incidents', 'list')).toEqual(incident)
  expect(await it.run('incidents', 'acknowledge', 'all:y')).toMatchObject({ code: 2 })
  expect(await it.run('incidents', 'acknowledge', '--rule', 'other', 'pod/shop/web')).toMatchObject({
    code: 2,
  })
  expect(await it.run('incidents', 'acknowledge', 'all:x', '--by', 'bob')).toMatchObject({ code: 0 })
  expect(await it.json('incidents', 'list')).toMatchObject({ acknowledged: { by: 'cli:bob' } })
  const args = ['--rule', 'all', 'po/shop/web', '--by', 'alice', '--reason', 'on it']
  expect(await it.run('incidents', 'acknowledge', ...args)).toMatchObject({ code: 0 })
  expect(await it.json('incidents', 'list')).toMatchObject({
    acknowledged: { by: 'cli:alice', reason: 'on it' },
  })
  const former = ['--rule', 'all', 'pod/shop/web-0', '--by', 'carol']
  expect(await it.run('incidents', 'acknowledge', ...former)).toMatchObject({ code: 0 })
  expect(await it.run('incidents', 'acknowledge', '--rule', '*', 'po/shop/web')).toMatchObject({ code: 2 })
  expect(await it.json('incidents', 'list')).toMatchObject({ acknowledged: { by: 'cli:carol' } })
})

test('an incident is acknowledged by its id although the list is too long to have it', async () => {
  await using it = await open()
  const own = async (source: string, keys: readonly string[]) => {
    const state = { v: 1, limit: 'for-resolve', rule: 'all', waiting: 0, sinceMs: 5, atMs: 5 }
    const value = encodeState({ text: JSON.stringify(state), expiresAfterMs: 60_000 }, Date.now())
    await it.redis.hset(it.keys.sources, source, '{}')
    await it.redis.hset(it.keys.ownLimits(source), ...keys.flatMap((key) => [key, value]))
  }
  await own(
    's1',
    Array.from({ length: 12_000 }, (_, i) => `many-${i}:all`),
  )
  await own('s2', ['last:all'])
  expect(await it.run('incidents', 'acknowledge', 'none:all')).toMatchObject({ code: 2 })
  expect(await it.run('incidents', 'acknowledge', 'last:all', '--by', 'bob')).toMatchObject({ code: 0 })
  expect(await it.redis.hkeys(it.keys.acknowledged)).toEqual(['last:all'])
})
