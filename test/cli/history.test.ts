import { expect, test } from 'vitest'
import type { HistoryRecord } from '../../src/model/history-record.ts'
import { silentLog } from '../../src/observe/log.ts'
import { encodeEntries } from '../../src/store/entry.ts'
import { packHistory } from '../../src/store/history/history-format.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { checkRedis } from '../../src/store/redis/requirements.ts'
import { startRedis } from '../servers/redis.ts'
import { headerFor } from '../store/objects.ts'
import { configuration, openDesk } from './cli.ts'
import { runHere } from './here.ts'

const HOSTILE = 'r\u001b[2J\nALL WELL\u202e'
const AT_MS = Date.UTC(2026, 10, 26, 4, 0, 0)
const UID = '11111111-2222-4333-8444-555555555555'

const web: HistoryRecord['event'] = {
  ...{ id: `c/${UID}/7/ADDED`, type: 'ADDED', apiVersion: 'v1', kind: 'Event', namespace: 'shop' },
  ...{ name: 'web.17a', reason: 'BackOff', regarding: { kind: 'Pod', namespace: 'shop', name: 'web' } },
}
const RECORDS: HistoryRecord[] = [
  {
    ...{
      outcome: 'delivered',
      atMs: AT_MS,
      event: web,
      rule: 'crash',
      sinks: ['hook'],
      title: 'web is down',
    },
    attempts: [
      { atMs: AT_MS - 3_000, tookMs: 40, error: 'HTTP 503' },
      { atMs: AT_MS - 30, tookMs: 30 },
    ],
  },
  {
    outcome: 'suppressed',
    atMs: AT_MS + 1,
    event: web,
    rule: 'all',
    sinks: ['hook'],
    attempts: [],
    limit: 'throttle',
    untilMs: AT_MS + 1_800_000,
  },
  {
    ...{ outcome: 'dead', atMs: AT_MS + 2, rule: 'all', sinks: ['hook'], attempts: [], reason: 'expired' },
    ...{ event: { ...web, id: 'c/u/8/ADDED', reason: HOSTILE, regarding: { kind: 'Node', name: HOSTILE } } },
    detail: HOSTILE,
  },
]

/** A Redis with these records, and a configuration for it. */
async function openPast(records: readonly HistoryRecord[] = RECORDS) {
  const stack = new AsyncDisposableStack()
  const desk = stack.use(openDesk())
  const server = stack.use(await startRedis())
  const redis = openRedis(server.url, 'work', silentLog)
  stack.defer(() => redis.disconnect())
  const keys = keysOf('here')
  await checkRedis({ redis, keys })
  for (const it of records) {
    const key = it.outcome === 'suppressed' ? keys.suppressed : keys.history
    await redis.xadd(key, `${it.atMs}-*`, 'z', packHistory([[it]]))
  }
  desk.write('kubeherald.yaml', configuration(`cluster: here\nredis: { url: "${server.url}" }`))
  const json = async (...args: string[]) =>
    (await runHere(desk, ...args, '-o', 'json')).stdout
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  return { desk, redis, keys, json, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

test('history has the newest first, and finds an object by kind, short name, uid and the id of an event', async () => {
  await using it = await openPast()
  expect(await it.json('history')).toEqual(RECORDS.toReversed())
  const ofWeb = [RECORDS[1], RECORDS[0]]
  for (const object of ['pod/shop/web', 'po/shop/web', 'Pods/shop/web', UID, `c/${UID}/7/ADDED`])
    expect({ object, records: await it.json('history', object) }).toEqual({ object, records: ofWeb })
  expect(await it.json('history', 'pod/shop/other')).toEqual([])
  expect(await it.json('history', '--rule', 'crash')).toEqual([RECORDS[0]])
  expect(await it.json('history', '--limit', '1')).toEqual([RECORDS[2]])
})

test('history as text: one line a record, whatever names and answers have in them', async () => {
  await using it = await openPast()
  const { stdout, code } = await runHere(it.desk, 'history')
  expect(code).toBe(0)
  expect(stdout.trim().split('\n')).toHaveLength(1 + RECORDS.length)
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  expect(stdout).toMatch(
    /2026-11-26 04:00:00 UTC +Pod shop\/web +BackOff +crash +hook +delivered after 2 attempts: HTTP 503/,
  )
  expect(stdout).toContain('suppressed by throttle until 04:30:00 UTC')
})

test('of an unknown object, history and why show since when the history goes back and what is watched', async () => {
  await using it = await openPast()
  await it.redis.hset(it.keys.sources, 'pods#1', JSON.stringify({ title: 'pods in shop' }))
  for (const command of ['history', 'why']) {
    const none = await runHere(it.desk, command, 'deploy/shop/web')
    expect(none).toMatchObject({ code: 0 })
    expect(none.stdout).toContain('2026-11-26 04:00:00 UTC')
    expect(none.stdout).toContain('pods in shop')
  }
  const filtered = await runHere(it.desk, 'history', 'pod/shop/web', '--sink', 'other', '--rule', 'crash')
  expect(filtered.stdout).toMatch(/pod\/shop\/web.*crash.*other/)
  await it.redis.del(it.keys.history, it.keys.suppressed)
  expect((await runHere(it.desk, 'history')).stdout).toContain('history: false')
  expect((await runHere(it.desk, 'history', 'deploy/shop/web')).stdout).toContain('pods in shop')
  await it.redis.del(it.keys.sources)
  expect((await runHere(it.desk, 'history', 'deploy/shop/web')).stdout).toContain('nothing is watched')
  const wrong = await runHere(it.desk, 'history', 'web')
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toContain('kind/namespace/name')
})

test('why shows the record of each sink, what waits, and dead letters', async () => {
  await using it = await openPast()
  const event = { ...headerFor('web', '9', 'MODIFIED', UID), namespace: 'shop', kind: 'Pod' }
  const [entry] = encodeEntries([{ sink: 'hook', rule: 'all', event, objectJson: Buffer.from('{}') }])
  const payload = entry?.payload as Buffer
  await it.redis.xadd(it.keys.lane('hook/n1'), '*', 'n', 1, 't', Date.now(), 'z', payload)
  await it.redis.hset(it.keys.pending, 'hook/n1', 1)
  const about = [
    'sink',
    'hook',
    'lane',
    'hook/n1',
    'rule',
    'all',
    'reason',
    'rejected',
    'detail',
    'no',
    'at',
    '1',
  ]
  await it.redis.xadd(it.keys.deadLetters, '*', ...about, 'z', payload)
  const [answer] = [JSON.parse((await runHere(it.desk, 'why', 'pod/shop/web', '-o', 'json')).stdout)]
  expect(answer).toMatchObject({
    id: `c/${UID}/7/ADDED`,
    history: [{ outcome: 'suppressed' }, { outcome: 'delivered', title: 'web is down' }],
    waiting: [{ sink: 'hook', isQuarantined: false }],
    waitingIsComplete: true,
    deadLetters: [{ sink: 'hook', reason: 'rejected' }],
  })
  const { stdout, code } = await runHere(it.desk, 'why', 'pod/shop/web')
  expect(code).toBe(0)
  expect(stdout).toContain('"web is down"')
  expect(stdout).toContain('journal: { keep: 24h }')
})

test('why of an object is about its newest event: what waits and what was given up of others is apart from that', async () => {
  await using it = await openPast()
  const payloadOf = (version: string, time: number) => {
    const event = {
      ...headerFor('web', version, 'MODIFIED', UID),
      ...{
        namespace: 'shop',
        kind: 'Pod',
        id: `c/${UID}/${version}/MODIFIED`,
        time: new Date(time).toISOString(),
      },
    }
    const [entry] = encodeEntries([{ sink: 'hook', rule: 'all', event, objectJson: Buffer.from('{}') }])
    return entry?.payload as Buffer
  }
  const letter = async (id: string, payload: Buffer) => {
    const about = { sink: 'hook', lane: 'hook/n1', rule: 'all', reason: 'rejected', detail: 'no', at: '1' }
    await it.redis.xadd(it.keys.deadLetters, id, ...Object.entries(about).flat(), 'z', payload)
  }
  await letter('1-1', payloadOf('5', AT_MS - 60_000))
  await letter('2-2', payloadOf('9', AT_MS + 60_000))
  await it.redis.xadd(
    it.keys.lane('hook/n1'),
    '*',
    'n',
    1,
    't',
    Date.now(),
    'z',
    payloadOf('9', AT_MS + 60_000),
  )
  await it.redis.hset(it.keys.pending, 'hook/n1', 1)

  const [answer] = [JSON.parse((await runHere(it.desk, 'why', 'pod/shop/web', '-o', 'json')).stdout)]
  const newest = `c/${UID}/9/MODIFIED`
  expect(answer).toMatchObject({ id: newest, history: [], waiting: [{ event: newest }] })
  expect(answer.deadLetters).toMatchObject([
    { id: '2-2', event: newest },
    { id: '1-1', event: `c/${UID}/5/MODIFIED` },
  ])
  const { stdout } = await runHere(it.desk, 'why', 'pod/shop/web')
  const [head = '', ...rest] = stdout.split('other events')
  expect(head).toContain(newest)
  expect(head).toMatch(/hook +all +waits/)
  expect(head).toContain('dead-letters retry 2-2')
  expect(head).not.toContain('1-1')
  expect(rest.join()).toContain('dead-letters retry 1-1')
})
