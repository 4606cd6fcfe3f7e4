import { request } from 'undici'
import { expect, test } from 'vitest'
import type { WatchStatus } from '../../src/model/status.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { describeChecks, liveness, readiness, type Vitals } from '../../src/observe/server/health.ts'
import { startServer } from '../../src/observe/server/http.ts'

const WATCH: WatchStatus = {
  key: 'k',
  title: 'pods',
  phase: 'watching',
  resourceVersion: '7',
  lastContactMs: 90,
  aliveUntilMs: 200,
  ready: true,
}
const VITALS: Vitals = {
  nowMs: 100,
  watches: [WATCH],
  sinks: [],
  redisTrouble: undefined,
  redisFull: false,
  stopping: false,
}
const METADATA: WatchStatus = { ...WATCH, title: 'metadata of pods' }
const FORBIDDEN: WatchStatus = { ...METADATA, ready: false, phase: 'failing', lastError: '403 Forbidden' }
const STANDBY = { ...WATCH, phase: 'standby', aliveUntilMs: 0 } as unknown as WatchStatus
const behind = (
  ms: number,
  waitsFor: 'api-server' | 'redis' = 'api-server',
  more: Partial<WatchStatus> = {},
) => ({
  watches: [{ ...WATCH, ...more, behind: { ms, waitsFor } }],
})
const isOk = (checks: readonly { ok: boolean }[]) => checks.every(({ ok }) => ok)

test.each<[string, Partial<Vitals>, boolean]>([
  ['all is well', {}, true],
  ['a watch made no progress for too long', { watches: [{ ...WATCH, aliveUntilMs: 99 }] }, false],
  ['metadata made no progress for too long', { metadata: [{ ...METADATA, aliveUntilMs: 99 }] }, false],
  ['a watch waits for Redis', { watches: [{ ...WATCH, aliveUntilMs: 99 }], redisTrouble: 'gone' }, true],
  ['another process works on a watch', { watches: [STANDBY] }, true],
  ['a watch is behind: a restart would not help', behind(3_600_000), true],
])('live: %s', (_name, change, live) => {
  expect(isOk(liveness({ ...VITALS, ...change }))).toBe(live)
})

test.each<[string, Partial<Vitals>, boolean]>([
  ['all is well', {}, true],
  ['Redis is away', { redisTrouble: 'ECONNREFUSED' }, false],
  ['Redis is full', { redisFull: true }, false],
  ['a watch has no position yet', { watches: [{ ...WATCH, ready: false, phase: 'listing' }] }, false],
  [
    'a watch is forbidden',
    { watches: [{ ...WATCH, ready: false, phase: 'failing', lastError: '403' }] },
    false,
  ],
  ['a kind is not installed yet', { watches: [{ ...WATCH, phase: 'waiting-for-kind' }] }, true],
  ['another process works on a watch', { watches: [STANDBY] }, true],
  ['a sink fails', { sinks: [{ sink: 's', healthy: false, quarantined: 0, failingTargets: 0 }] }, true],
  [
    'metadata is read for the first time',
    { metadata: [{ ...METADATA, ready: false, phase: 'listing' }] },
    false,
  ],
  ['metadata must not be read', { metadata: [FORBIDDEN] }, true],
  ['it stops', { stopping: true }, false],
  ['a watch is behind for a moment', behind(60_000), true],
  ['a watch is behind for minutes', behind(181_000), false],
  ['metadata is behind', { metadata: [{ ...METADATA, ...behind(600_000).watches[0], title: 'm' }] }, true],
])('ready: %s', (_name, change, ready) => {
  expect(isOk(readiness({ ...VITALS, ...change }))).toBe(ready)
})

test.each<[Partial<Vitals>, string]>([
  [
    { redisTrouble: "Stream isn't writeable and enableOfflineQueue options is false" },
    '[-]redis failed: no connection',
  ],
  [
    { metadata: [FORBIDDEN] },
    '[+]metadata of pods ok, but rules that ask for it do not match: 403 Forbidden',
  ],
  [{ redisFull: true }, '[-]redis failed: nearly full; watches pause until deliveries make room'],
  [{ watches: [STANDBY] }, '[+]watch pods ok, another process works on it'],
  [
    { watches: [{ ...STANDBY, ready: false, holder: 'web-1_ab' }] },
    '[-]watch pods failed: web-1_ab works on it, and has no position yet',
  ],
  [
    { watches: [{ ...STANDBY, ready: false, holder: '' }] },
    '[-]watch pods failed: nobody holds its lease yet',
  ],
  [
    { watches: [{ ...WATCH, phase: 'waiting-for-kind' }] },
    '[+]watch pods ok, the cluster does not have this kind yet',
  ],
  [{ watches: [{ ...WATCH, ready: false, phase: 'listing' }] }, '[-]watch pods failed: reads what is there'],
  [
    {
      watches: [
        { ...WATCH, ready: false, phase: 'reconnecting', lastError: 'connect ECONNREFUSED 10.0.0.1:6443' },
      ],
    },
    '[-]watch pods failed: nobody listens at 10.0.0.1:6443',
  ],
  [
    { sinks: [{ sink: 'hook', healthy: false, quarantined: 0, failingTargets: 0 }] },
    '[+]sink hook ok, but the sink fails, and its deliveries wait',
  ],
  [
    {
      sinks: [
        { sink: 'hook', healthy: false, quarantined: 0, failingTargets: 0, lastError: 'network: ENOTFOUND' },
      ],
    },
    '[+]sink hook ok, but the sink fails, and its deliveries wait: network; the log and "kubeherald status" have the answer',
  ],
  [
    behind(600_000),
    '[-]watch pods failed: behind for 10 min: the API server does not send what its collection has',
  ],
  [behind(240_000, 'redis'), '[-]watch pods failed: behind for 4 min: Redis does not take its changes'],
  [
    { ...behind(240_000, 'redis'), redisTrouble: 'ECONNREFUSED' },
    '[+]watch pods ok, but behind for 4 min: Redis does not take its changes',
  ],
  [
    behind(240_000, 'api-server', { phase: 'reconnecting', lastError: 'connect ECONNREFUSED 10.0.0.1:6443' }),
    '[-]watch pods failed: behind for 4 min: nobody listens at 10.0.0.1:6443',
  ],
  [
    behind(240_000, 'api-server', { phase: 'listing', lastError: 'old' }),
    '[-]watch pods failed: behind for 4 min: reads what is there',
  ],
  [{ stopping: true }, '[-]running failed: it is stopping'],
])('readiness of %j says %s', (change, line) => {
  expect(describeChecks(readiness({ ...VITALS, ...change })).split('\n')).toContain(line)
})

const MARKER = 'customer-4711'

test.each<Partial<Vitals>>([
  ...['rejected: HTTP 400: ', 'unreadable: ', ''].flatMap((reason) =>
    [
      { healthy: false, quarantined: 0, failingTargets: 0 },
      { healthy: true, quarantined: 2, failingTargets: 0 },
      { healthy: true, quarantined: 0, failingTargets: 1 },
    ].map((state) => ({ sinks: [{ sink: 'hook', ...state, lastError: `${reason}${MARKER}` }] })),
  ),
  { watches: [{ ...WATCH, ready: false, phase: 'failing', lastError: `403 Forbidden: ${MARKER}` }] },
  { watches: [{ ...WATCH, ready: false, phase: 'failing', lastError: `502 : ${MARKER}` }] },
  {
    watches: [
      {
        ...WATCH,
        ready: false,
        phase: 'resolving',
        lastError: `the API server answered 403 to /apis: ${MARKER}`,
      },
    ],
  },
  { metadata: [{ ...FORBIDDEN, lastError: `403 Forbidden: ${MARKER}` }] },
  behind(240_000, 'api-server', { phase: 'failing', lastError: `500 InternalError: ${MARKER}` }),
])('readiness does not show what a receiver or the API server answers: %j', (change) => {
  expect(describeChecks(readiness({ ...VITALS, ...change }))).not.toContain(MARKER)
})

test('the endpoints say what they check, and give metrics', async () => {
  const metrics = createMetrics()
  let vitals = VITALS
  const server = await startServer({ host: '127.0.0.1', port: 0, metrics, vitals: () => vitals })
  const get = async (path: string) => {
    const { statusCode, body } = await request(`${server.url}${path}`)
    return { statusCode, text: await body.text() }
  }
  expect(await get('/livez')).toMatchObject({ statusCode: 200 })
  vitals = { ...VITALS, redisTrouble: 'no connection' }
  expect(await get('/readyz')).toMatchObject({
    statusCode: 503,
    text: expect.stringContaining('[-]redis failed: no connection'),
  })
  expect((await get('/metrics')).text).toContain('kubeherald_redis_up')
  expect(await get('/other')).toMatchObject({ statusCode: 404 })
  await server.close()
})

test('a port that is taken is told in one line', async () => {
  const metrics = createMetrics()
  const first = await startServer({ host: '127.0.0.1', port: 0, metrics, vitals: () => VITALS })
  const port = Number(new URL(first.url).port)
  await expect(startServer({ host: '127.0.0.1', port, metrics, vitals: () => VITALS })).rejects.toThrow(
    /another process listens there/,
  )
  await first.close()
})
