import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createPacer } from '../../../src/cli/replay/paced.ts'
import { continueHint } from '../../../src/cli/replay/replay.ts'
import type { Delivery } from '../../../src/model/delivery.ts'
import type { HistoryRecord } from '../../../src/model/history-record.ts'
import { silentLog } from '../../../src/observe/log.ts'
import { packJournal } from '../../../src/store/commit/journal.ts'
import { packHistory } from '../../../src/store/history/history-format.ts'
import { keysOf } from '../../../src/store/keys.ts'
import {
  enqueueAgain,
  enqueueCurrent,
  type NoRoom,
  noRoomFor,
} from '../../../src/store/lanes/enqueue-again.ts'
import { readLane } from '../../../src/store/lanes/read-lane.ts'
import { readLedger } from '../../../src/store/ledger.ts'
import { openRedis } from '../../../src/store/redis/connection.ts'
import { checkRedis } from '../../../src/store/redis/requirements.ts'
import { programMain } from '../../program.ts'
import { startRedis } from '../../servers/redis.ts'
import { headerFor, SOURCE, scanned } from '../../store/objects.ts'
import { openDesk } from '../cli.ts'
import { runHere } from '../here.ts'

const MINUTE = 60_000

/** A Redis with a journal, and a configuration with the sinks `bus` and `other`. */
async function openPast() {
  const stack = new AsyncDisposableStack()
  const desk = stack.use(openDesk())
  const server = stack.use(await startRedis())
  const redis = openRedis(server.url, 'work', silentLog)
  stack.defer(() => redis.disconnect())
  const keys = keysOf('here')
  await checkRedis({ redis, keys })
  const sinks = '{ bus: { type: stdout }, other: { type: stdout } }'
  desk.write(
    'kubeherald.yaml',
    `cluster: here\nredis: { url: "${server.url}" }\nwatch: [ConfigMap]\nsinks: ${sinks}\nrules: [{ name: all, to: [bus] }, { name: few, to: [other] }]\n`,
  )
  const nowMs = Date.now()

  /** Events `name@version`, and how many minutes ago each happened. */
  async function happen(...events: [text: string, minutesAgo: number][]): Promise<void> {
    for (const [text, minutesAgo] of events) {
      const [name = '', version = ''] = text.split('@')
      const { bytes: _, ...object } = scanned(name, version)
      const observedAtMs = nowMs - minutesAgo * MINUTE
      const change = { type: 'MODIFIED' as const, ...object, observedAtMs, synthesized: false }
      const transition = { ...change, object: scanned(name, version) }
      const contentsOf = () => ({ objectJson: scanned(name, version).bytes })
      const [payload] = packJournal(SOURCE, [transition], contentsOf)
      await redis.xadd(keys.journal, `${observedAtMs}-*`, 'z', payload as Buffer)
    }
  }

  /** Each was delivered soon after it happened. */
  async function delivered(...records: [text: string, minutesAgo: number, more?: Partial<HistoryRecord>][]) {
    for (const [text, minutesAgo, more] of records) {
      const [name = '', version = ''] = text.split('@')
      const { id, type, apiVersion, kind, namespace } = headerFor(name, version, 'MODIFIED', `uid-of-${name}`)
      const atMs = nowMs - minutesAgo * MINUTE + 50
      const event = { id, type, apiVersion, kind, namespace: namespace ?? '', name }
      const record: HistoryRecord = {
        ...{ outcome: 'delivered', atMs, event, rule: 'all', sinks: ['bus'], attempts: [] },
        ...more,
      }
      await redis.xadd(keys.history, `${atMs}-*`, 'z', packHistory([[record]]))
    }
  }

  const run = (...args: string[]) => runHere(desk, 'replay', ...args)
  /** What waits for `bus`, by lane. */
  async function waiting(): Promise<Delivery[]> {
    const lanes = Object.keys(await redis.hgetall(keys.pending)).toSorted()
    const read = await Promise.all(lanes.map((lane) => readLane(redis, keys, lane, '-', 1_000)))
    return read.flatMap(({ entries }) => entries.flatMap(({ items }) => items.map((it) => it.delivery)))
  }
  return {
    desk,
    redis,
    keys,
    run,
    happen,
    delivered,
    waiting,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

const shown = ({ event }: Pick<Delivery, 'event'>) => `${event.name}@${event.resourceVersion}`

test('what a sink got in the time goes to it again, once and in order, with its id and the mark', async () => {
  await using it = await openPast()
  await it.happen(['a@1', 150], ['a@2', 90], ['b@3', 80], ['a@4', 70], ['c@5', 60], ['a@6', 10])
  await it.delivered(
    ['a@1', 150],
    ['a@2', 90],
    ['b@3', 80, { sinks: ['other'], rule: 'few' }],
    ['a@4', 70],
    ['c@5', 60, { outcome: 'dead', reason: 'expired', detail: 'late' }],
    ['a@6', 10],
    ['a@2', 5, { isReplay: true }],
  )
  const { code, stdout } = await it.run('--sink', 'bus', '--since', '2h', '--until', '30m')
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^2 events/) })
  const deliveries = await it.waiting()
  expect(deliveries.map(shown)).toEqual(['a@2', 'a@4'])
  expect(deliveries[0]).toMatchObject({
    ...{ sink: 'bus', rule: 'all', replayed: true },
    event: { id: 'cluster-uid/uid-of-a/2/MODIFIED' },
  })
  expect(Date.now() - Date.parse(deliveries[0]?.releasedAt ?? '')).toBeLessThan(30_000)
  expect(await readLedger(it.redis, it.keys, { verify: true })).toMatchObject({
    ...{ balanced: true, verified: true },
    sinks: { bus: { enqueued: 2, delivered: 0, dead: 0, pending: 2 } },
  })
})

test('an event and each alarm that had waited with it go again, alarms as states with their own ids', async () => {
  await using it = await openPast()
  await it.happen(['a@2', 90])
  const { id, type, apiVersion, kind } = headerFor('a', '2', 'MODIFIED', 'uid-of-a')
  const waited = (of: string, rule: string): Partial<HistoryRecord> => ({
    event: { id: `${of}/held/${rule}`, type, apiVersion, kind, namespace: 'default', name: 'a' },
    rule,
  })
  await it.delivered(
    ['a@2', 90],
    ['a@2', 85, waited(id, 'soon')],
    ['a@2', 60, waited(id, 'late')],
    ['a@2', 50, waited(id.replace('uid-of-a', 'uid-of-b'), 'soon')],
    ['a@2', 40, waited(id.replace('uid-of-a', 'uid-of-b'), 'late')],
  )
  const { stdout } = await it.run('--sink', 'bus', '--since', '2h', '--json')
  expect(JSON.parse(stdout)).toMatchObject({ sent: 3, notInJournal: 2 })
  const sent = await it.waiting()
  expect(sent.map(({ rule, event }) => [rule, event.id, event.heldAt !== undefined])).toEqual([
    ['all', id, false],
    ['soon', `${id}/held/soon`, true],
    ['late', `${id}/held/late`, true],
  ])
})

test('a dry run shows how many of which rules, and what cannot be sent again', async () => {
  await using it = await openPast()
  await it.happen(['a@1', 90], ['a@2', 80])
  await it.delivered(['a@1', 90], ['a@2', 80, { rule: 'former' }], ['lost@3', 70])
  await it.delivered(['d@4', 60, { notice: { kind: 'digest', count: 3, objects: [] } }])
  const { code, stdout, stderr } = await it.run('--sink', 'bus', '--since', '2h', '--dry-run', '--json')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ sink: 'bus', events: 2, rules: { all: 1, former: 1 }, notInJournal: 1, notices: 1 },
  })
  expect(stderr).toMatch(/^warning: 1 delivered event/m)
  expect(await it.redis.exists(it.keys.pending)).toBe(0)
  const only = await it.run('--sink', 'bus', '--since', '2h', '--rule', 'all', '--dry-run', '--json')
  expect(JSON.parse(only.stdout)).toMatchObject({ events: 1 })
})

test('without a journal or a history it says what is missing, and names of nothing are refused', async () => {
  await using it = await openPast()
  const args = ['--sink', 'bus', '--since', '2h']
  expect(await it.run(...args)).toMatchObject({ code: 1, stderr: expect.stringContaining('journal: {') })
  await it.happen(['a@1', 5])
  expect(await it.run(...args)).toMatchObject({ code: 1, stderr: expect.stringContaining('history') })
  const soon = new Date(Date.now() + MINUTE).toISOString()
  for (const wrong of [
    ['--sink', 'buss', '--since', '2h'],
    ['--sink', 'bus', '--since', 'yesterday'],
    ['--sink', 'bus', '--since', soon],
    // Without its zone a time is another one on each machine.
    ['--sink', 'bus', '--since', '2026-01-02T03:04'],
    ['--sink', 'bus', '--since', '2026-01-02 03:04:05'],
    ['--sink', 'bus', '--since', '2026-01-02'],
    ['--sink', 'bus', '--since', '2024-02-30T00:00:00Z'],
    ['--sink', 'bus', '--since', '1h', '--until', '2h'],
    [...args, '--rule', 'alll'],
    ['--sink', 'bus'],
  ])
    expect((await it.run(...wrong)).code).toBe(2)
})

/** The answer of `why` for an object of the name. */
async function whyOf(it: Awaited<ReturnType<typeof openPast>>, name: string) {
  return whyOfTarget(it, `configmap/default/${name}`)
}

async function whyOfTarget(it: Awaited<ReturnType<typeof openPast>>, target: string) {
  const { code, stdout, stderr } = await runHere(it.desk, 'why', target, '-o', 'json')
  expect(code, stderr).toBe(0)
  return JSON.parse(stdout) as { id: string; history: HistoryRecord[]; rules?: { event: { id: string } } }
}

test('why of an object is about its newest event, also if no rule matched it', async () => {
  await using it = await openPast()
  const idOf = (text: string) => {
    const [name = '', version = ''] = text.split('@')
    return headerFor(name, version, 'MODIFIED', `uid-of-${name}`).id
  }
  await it.happen(['a@1', 90], ['b@2', 80], ['c@3', 70], ['a@4', 10])
  await it.delivered(['c@2', 120], ['a@1', 90], ['b@2', 80], ['c@5', 60])
  const unmatched = await whyOf(it, 'a')
  expect(unmatched).toMatchObject({ id: idOf('a@4'), history: [], rules: { event: { id: idOf('a@4') } } })
  const { stdout } = await runHere(it.desk, 'why', 'configmap/default/a', '--sink', 'bus')
  const [head = '', others = ''] = stdout.split('other events')
  expect(head).not.toMatch(/delivered/)
  expect(others).toMatch(/bus +all +delivered/)

  const matched = await whyOf(it, 'b')
  expect(matched).toMatchObject({ id: idOf('b@2'), rules: { event: { id: idOf('b@2') } } })
  expect(matched.history).toHaveLength(1)
  // The journal ended before.
  const later = await whyOf(it, 'c')
  expect({ id: later.id, rules: later.rules }).toEqual({ id: idOf('c@5'), rules: undefined })
})

test('why of the id that a consumer got of what limits emitted has the results of the rules for its event', async () => {
  await using it = await openPast()
  const { id, type, apiVersion, kind } = headerFor('a', '2', 'MODIFIED', 'uid-of-a')
  const event = { id: `${id}/held/all`, type, apiVersion, kind, namespace: 'default', name: 'a' }
  await it.happen(['a@1', 90], ['a@2', 80])
  await it.delivered(['a@2', 80], ['a@2', 70, { event }])
  const answer = await whyOfTarget(it, event.id)
  expect(answer).toMatchObject({ id: event.id, history: [{ event }], rules: { event: { id } } })
  expect(answer.history).toHaveLength(1)
})

test.each(['-c - < kubeherald.yaml', '-c <(cat kubeherald.yaml)'])(
  'a configuration that comes through a pipe is read once, for rules and for Redis: %s',
  async (config) => {
    await using it = await openPast()
    await it.delivered(['a@1', 5])
    const line = `"$0" "$1" why configmap/default/a -o json ${config}`
    const { env, cwd } = it.desk
    const { stdout, stderr } = await promisify(execFile)(
      'bash',
      ['-c', line, process.execPath, programMain()],
      { env, cwd, timeout: 25_000 },
    )
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toMatchObject({ history: [{ outcome: 'delivered' }] })
  },
)

test('it waits while others wait for the sink, by number or bytes, and while Redis is nearly full', async () => {
  await using it = await openPast()
  const room = (maxBytes = 1e8) => noRoomFor(it.redis, it.keys, 'bus', () => maxBytes)
  expect(await room()).toBeUndefined()
  for (let i = 0; i < 50; i++)
    await it.redis.xadd(it.keys.lane('bus/n1'), '*', 'n', 1, 't', Date.now(), 'z', 'x'.repeat(10_000))
  await it.redis.hset(it.keys.pending, 'bus/n1', 50, 'other/n1', 5_000)
  expect(await room()).toBeUndefined()
  expect(await room(1e6)).toEqual({ kind: 'queue', waiting: 50 })
  await it.redis.hset(it.keys.pending, 'bus/n2', 2_000)
  expect(await room()).toEqual({ kind: 'queue', waiting: 2_050 })
  await it.redis.config('SET', 'maxmemory', '1mb')
  expect(await room()).toMatchObject({ kind: 'memory' })
})

test('a replay that is stopped while it waits has sent whole portions, and goes on from the last one', async () => {
  const all = Array.from({ length: 250 }, (_, i) => `a@${i + 1}`)
  const ended = new AbortController()
  const sent: Delivery[] = []
  const full: NoRoom = { kind: 'queue', waiting: 2_000 }
  const waits: NoRoom[] = []
  const pacer = createPacer({
    signal: ended.signal,
    enqueue: async (portion) => sent.push(...portion) && portion.length,
    noRoom: async () => (sent.length < 200 ? undefined : full),
    onProgress({ waitsFor }) {
      if (!waitsFor) return
      waits.push(waitsFor)
      ended.abort()
    },
  })
  for (const text of all) {
    const event = headerFor('a', text.slice(2), 'MODIFIED', 'u')
    await pacer.add({ sink: 'bus', rule: 'all', event, objectJson: Buffer.from('{}') })
  }
  const end = await pacer.end()
  expect(waits).toEqual([full])
  expect(sent.map(shown)).toEqual(all.slice(0, 200))
  expect(end).toMatchObject({ count: 200, last: sent.at(-1) })
})

/** The arguments of the command in the hint, as a shell reads them. */
function argumentsIn(hint: string): string[] {
  const [, command = ''] = /"(.+)"/.exec(hint) ?? []
  const { stdout } = spawnSync('sh', ['-c', `printf '%s\\n' ${command}`], { encoding: 'utf8' })
  return stdout.trimEnd().split('\n').slice(1)
}

test('the command that goes on ends where the first run did, and goes to the same installation', () => {
  const untilMs = Date.parse('2026-11-26T12:00:00Z')
  const event = { ...headerFor('a', '1', 'MODIFIED', 'u'), time: '2026-11-26T10:00:30Z' }
  const last: Delivery = { sink: 'bus', rule: 'all', event, objectJson: Buffer.from('{}') }
  const windowFrom = (since: string) => ({ sinceMs: Date.parse(since), untilMs })
  const until = ['--until', '2026-11-26T12:00:00.000Z']
  expect(
    argumentsIn(continueHint(last, { sink: 'bus', since: '3h' }, windowFrom('2026-11-26T09:00:00Z'))),
  ).toEqual(['replay', '--sink', 'bus', '--since', '2026-11-26T09:59:30.000Z', ...until])
  const options = {
    ...{ sink: 'bus', rule: 'all', config: "it's prod.yaml", context: 'a b', stateDir: '/var/x y' },
    ...{ demo: true, plugins: false },
  }
  expect(argumentsIn(continueHint(last, options, windowFrom('2026-11-26T10:00:00Z')))).toEqual([
    ...['replay', '--config', "it's prod.yaml", '--context', 'a b', '--state-dir', '/var/x y'],
    ...['--demo', '--no-plugins', '--sink', 'bus', '--since', '2026-11-26T10:00:00.000Z', ...until],
    ...['--rule', 'all'],
  ])
})

test('a newer layout, or a lane that another program took, gets nothing', async () => {
  await using it = await openPast()
  const event = headerFor('a', '1', 'MODIFIED', 'u')
  const some: Delivery[] = [{ sink: 'bus', rule: 'all', event, objectJson: Buffer.from('{}') }]
  const lanes = new Map([
    ['bus/n1', some],
    ['bus/n2', some],
  ])
  await it.redis.set(it.keys.lane('bus/n2'), 'mine')
  await expect(enqueueAgain(it.redis, it.keys, 'bus', lanes)).rejects.toThrow('WRONGTYPE')
  await it.redis.del(it.keys.lane('bus/n2'))
  await it.redis.set(it.keys.schema, '99')
  await expect(enqueueAgain(it.redis, it.keys, 'bus', lanes)).rejects.toThrow('layout 99')
  expect(await it.redis.exists(it.keys.lane('bus/n1'), it.keys.pending)).toBe(0)
})

test('where a counter has text in it, nothing is written', async () => {
  await using it = await openPast()
  const event = headerFor('a', '1', 'MODIFIED', 'u')
  const delivery: Delivery = { sink: 'bus', rule: 'all', event, objectJson: Buffer.from('{}') }
  const lanes = new Map([['bus/n1', [delivery]]])
  const states = [{ lane: 'bus/n1', delivery, sources: [] }]
  for (const [key, field] of [
    [it.keys.sinkLedger('bus'), 'enqueued'],
    [it.keys.pending, 'bus/n1'],
  ] as const) {
    await it.redis.hset(key, field, 'mine')
    await expect(enqueueAgain(it.redis, it.keys, 'bus', lanes)).rejects.toThrow('WRONGTYPE')
    await expect(enqueueCurrent(it.redis, it.keys, 'bus', states)).rejects.toThrow('WRONGTYPE')
    await it.redis.del(key)
  }
  expect(await it.redis.exists(it.keys.lane('bus/n1'))).toBe(0)
})

test('a state goes to a sink only if no newer one can be on its way', async () => {
  await using it = await openPast()
  const entryOf = (name: string, version: string) => `default/${name}/\n${version}`
  await it.redis.hset(it.keys.index('maps'), {
    'uid-same': entryOf('same', '100'),
    'uid-older': entryOf('older', '99'),
    'uid-newer': entryOf('newer', '101'),
  })
  const state = (name: string, sources: string[]) => {
    const event = headerFor(name, '100', 'ADDED', `uid-${name}`)
    const delivery: Delivery = { sink: 'bus', rule: 'all', event, objectJson: Buffer.from('{}') }
    return { lane: 'bus/n1', delivery, sources }
  }
  const states = ['same', 'older', 'newer', 'deleted'].map((name) => state(name, ['none', 'maps']))
  expect(await enqueueCurrent(it.redis, it.keys, 'bus', [...states, state('unwatched', [])])).toBe(3)
  expect((await it.waiting()).map(({ event }) => event.name)).toEqual(['same', 'older', 'unwatched'])
  expect(await readLedger(it.redis, it.keys, { verify: true })).toMatchObject({
    ...{ balanced: true, verified: true },
    sinks: { bus: { enqueued: 3, pending: 3 } },
  })
})

test('present states are all refused where the index of a source is another program’s key', async () => {
  await using it = await openPast()
  const index = it.keys.index('maps')
  await it.redis.set(index, 'foreign')
  const stateIn = (name: string, sources: string[]) => {
    const event = headerFor(name, '100', 'ADDED', `uid-${name}`)
    const delivery: Delivery = { sink: 'bus', rule: 'all', event, objectJson: Buffer.from('{}') }
    return { lane: 'bus/n1', delivery, sources }
  }
  const states = [stateIn('first', []), stateIn('second', ['maps'])]
  const enqueued = enqueueCurrent(it.redis, it.keys, 'bus', states)
  await enqueued.catch(() => {})
  expect(await it.waiting()).toEqual([])
  await expect(enqueued).rejects.toThrow(index)
  expect(await readLedger(it.redis, it.keys, { verify: true })).toMatchObject({
    balanced: true,
    verified: true,
  })
})
