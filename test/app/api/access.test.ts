import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApi } from '../../../src/app/api/api.ts'
import type { Handlers } from '../../../src/app/api/routes.ts'
import { STARTING } from '../../../src/app/status-reporting.ts'
import type { Logger } from '../../../src/observe/log.ts'
import { createMetrics } from '../../../src/observe/metrics.ts'
import { type AccessSettings, type Asking, createAccess } from '../../../src/observe/server/access.ts'
import { startServer } from '../../../src/observe/server/http.ts'
import { createRefusalLog } from '../../../src/observe/server/refusals.ts'
import { createSite } from '../../../src/observe/server/site.ts'
import { REFUSAL_REASONS } from '../../../src/observe/server-metrics.ts'
import { commandsIn } from '../../docs/shell.ts'
import { waitFor } from '../../wait-for.ts'
import { type ApiBed, bearer, startApiBed, TOKENS, WITH_TOKENS } from './bed.ts'

const LOCALLY: Asking = {
  method: 'GET',
  url: '/api/v1/overview',
  headers: { host: 'localhost:9464' },
  httpVersion: '1.1',
  peer: '127.0.0.1',
}
const TOKEN = 'a-token-of-some-length'
const WITH_TOKEN = { tokens: [{ name: 'ci', role: 'read', token: TOKEN }] } as const
const PROXY = {
  proxy: {
    userHeader: 'X-User',
    groupsHeader: 'X-Groups',
    actGroups: ['sre'],
    trust: ['10.0.0.0/8', 'fd00::/8'],
  },
}

/** `name role` of the caller, or the status of the refusal. */
function asked(settings: AccessSettings, how: Partial<Asking>): string | number {
  const answer = createAccess(settings).api({ ...LOCALLY, ...how })
  return 'status' in answer ? answer.status : `${answer.name} ${answer.role}`
}

describe('without tokens and proxy', () => {
  test.each<[string, Partial<Asking>, string | number]>([
    ['a program of this machine may act', {}, 'local act'],
    ['by IPv6, too', { peer: '::1', headers: { host: '[::1]:9464' } }, 'local act'],
    ['by IPv4 on a server of both, too', { peer: '::ffff:127.0.0.1' }, 'local act'],
    ['an address elsewhere gets nothing', { peer: '10.1.2.3' }, 404],
    ['nor does one of IPv4 on a server of both', { peer: '::ffff:10.1.2.3' }, 404],
    ['a sidecar gets nothing', { peer: '127.0.0.6' }, 404],
    ['nor does it on a server of both', { peer: '::ffff:127.0.0.6' }, 404],
    [
      'a proxy of this machine gets nothing',
      { headers: { host: 'localhost', 'x-forwarded-for': '10.1.2.3' } },
      404,
    ],
    ['nginx as it is by default gets nothing', { httpVersion: '1.0' }, 404],
    ['a name that resolves to this machine is refused', { headers: { host: 'evil.example.com:9464' } }, 403],
    ['no name is refused', { headers: {} }, 403],
    [
      'a name that only begins like ours is refused',
      { headers: { host: 'localhost.evil.example.com' } },
      403,
    ],
    [
      'a page of another site is refused',
      { headers: { host: 'localhost:9464', origin: 'https://evil.example.com' } },
      403,
    ],
    [
      'a page of another port is refused',
      { headers: { host: 'localhost:9464', origin: 'http://localhost:3000' } },
      403,
    ],
    ['a page without origin is refused', { headers: { host: 'localhost:9464', origin: 'null' } }, 403],
    [
      'an image of another site is refused',
      { headers: { host: 'localhost:9464', 'sec-fetch-site': 'cross-site' } },
      403,
    ],
    [
      'a script of another port is refused',
      { headers: { host: 'localhost:9464', 'sec-fetch-site': 'same-site' } },
      403,
    ],
    [
      'our page may act',
      {
        headers: { host: 'localhost:9464', origin: 'http://localhost:9464', 'sec-fetch-site': 'same-origin' },
      },
      'local act',
    ],
    ['a token is not ignored', { headers: { host: 'localhost', authorization: 'Bearer x' } }, 401],
  ])('%s', (_, how, expected) => {
    expect(asked({}, how)).toBe(expected)
  })

  test.each<[string, Partial<Asking>]>([
    ['an address elsewhere', { peer: '10.1.2.3' }],
    ['a sidecar', { peer: '127.0.0.6' }],
    ['a proxy of this machine', { headers: { host: 'localhost', forwarded: 'for=10.1.2.3' } }],
  ])('%s does not get the page either', (_, how) => {
    expect(createAccess({}).page({ ...LOCALLY, url: '/', ...how })).toMatchObject({ status: 404 })
    expect(createAccess({}).page({ ...LOCALLY, url: '/' })).toBeUndefined()
  })

  test('a name of server.hosts is ours', () => {
    expect(asked({ hosts: ['herald.test'] }, { headers: { host: 'Herald.test:9464' } })).toBe('local act')
  })
})

describe('with tokens', () => {
  test.each<[string, Partial<Asking>, string | number]>([
    [
      'the token decides, wherever it comes from',
      { peer: '10.1.2.3', headers: bearer(TOKEN) },
      'token:ci read',
    ],
    ['this machine needs one, too', {}, 401],
    ['another one is refused', { headers: bearer('another-token-of-some-length') }, 401],
    ['a part of it is refused', { headers: bearer(TOKEN.slice(0, -1)) }, 401],
    ['an empty one is refused', { headers: { authorization: 'Bearer ' } }, 401],
    ['another scheme is refused', { headers: { authorization: `Basic ${TOKEN}` } }, 401],
    ['in the URL it is refused', { url: `/api/v1/overview?token=${TOKEN}` }, 400],
    ['under another name, too', { url: `/api/v1/overview?q=1&access_token=${TOKEN}` }, 400],
    ['in camel case, too', { url: `/api/v1/overview?accessToken=${TOKEN}` }, 400],
    [
      'a page of another site cannot use it',
      { headers: { ...bearer(TOKEN), host: 'a', origin: 'https://b' } },
      403,
    ],
    ['headers of a proxy count for nothing', { headers: { 'x-user': 'root', 'x-groups': 'sre' } }, 401],
  ])('%s', (_, how, expected) => {
    expect(asked(WITH_TOKEN, how)).toBe(expected)
  })

  test('a host that is not named is refused where hosts are named', () => {
    const settings = { ...WITH_TOKEN, hosts: ['herald.test'] }
    expect(asked(settings, { headers: { ...bearer(TOKEN), host: 'other.test' } })).toBe(403)
    expect(asked(settings, { headers: { ...bearer(TOKEN), host: 'herald.test' } })).toBe('token:ci read')
  })
})

describe('with a proxy', () => {
  test.each<[string, Partial<Asking>, string | number]>([
    ['its users may read', { peer: '10.1.2.3', headers: { 'x-user': 'alice' } }, 'user:alice read'],
    [
      'its groups may act',
      { peer: '::ffff:10.1.2.3', headers: { 'x-user': 'alice', 'x-groups': 'dev, sre' } },
      'user:alice act',
    ],
    ['by IPv6, too', { peer: 'fd00::7', headers: { 'x-user': 'alice' } }, 'user:alice read'],
    [
      'from elsewhere its headers count for nothing',
      { peer: '11.1.2.3', headers: { 'x-user': 'alice' } },
      401,
    ],
    ['nor from IPv4 elsewhere', { peer: '::ffff:11.1.2.3', headers: { 'x-user': 'alice' } }, 401],
    ['nor from this machine', { headers: { host: 'localhost', 'x-user': 'alice' } }, 401],
    [
      'a user with the name of a token is another actor',
      { peer: '10.1.2.3', headers: { 'x-user': 'token:ci' } },
      'user:token:ci read',
    ],
    ['a name that is too long is refused', { peer: '10.1.2.3', headers: { 'x-user': 'a'.repeat(196) } }, 401],
    ['a request without a user is refused', { peer: '10.1.2.3' }, 401],
    [
      'a group that only contains the name may not act',
      { peer: '10.1.2.3', headers: { 'x-user': 'a', 'x-groups': 'not-sre' } },
      'user:a read',
    ],
  ])('%s', (_, how, expected) => {
    expect(asked(PROXY, how)).toBe(expected)
  })
})

const logged: object[] = []
const note = (fields: object, message: string) => void logged.push({ ...fields, message })
const log: Logger = { debug: note, info: note, warn: note, error: note }

let bed: ApiBed
beforeAll(async () => {
  bed = await startApiBed({ server: WITH_TOKENS, log })
  bed.change('ADDED', 'shop', 'web')
  bed.change('ADDED', 'shop', 'bad-cart')
  bed.change('ADDED', 'pay', 'card')
  bed.change('ADDED', 'pay', 'bad-card')
  bed.change('ADDED', 'shop', '__proto__')
  bed.change('ADDED', 'shop', '..')
  bed.change('ADDED', 'shop', 'evil\u202etxt')
  await waitFor(async () => (await bed.ask('/api/v1/history', READER)).body.items?.length >= 8, {
    what: 'the history',
  })
})
afterAll(() => bed?.[Symbol.asyncDispose]())

const READER = { headers: bearer(TOKENS.reader) }
const SHOP = { headers: bearer(TOKENS.shop) }
const asJson = (token: string, body: string, headers: object = {}) => ({
  method: 'POST',
  headers: { ...bearer(token), 'content-type': 'application/json', ...headers },
  body,
})
const NOTHING = '{"sink":"slow"}'

describe('a server with tokens', () => {
  test.each<[string, string, RequestInit, number]>([
    ['without a token', '/api/v1/overview', {}, 401],
    ['with one', '/api/v1/overview', READER, 200],
    ['with one in the URL', `/api/v1/overview?token=${TOKENS.reader}`, {}, 400],
    ['with one in the URL of the page', `/?token=${TOKENS.reader}`, {}, 400],
    ['to act with the role read', '/api/v1/dead-letters/retry', asJson(TOKENS.reader, NOTHING), 403],
    ['to act with the role act', '/api/v1/dead-letters/retry', asJson(TOKENS.actor, NOTHING), 200],
    [
      'of a form',
      '/api/v1/dead-letters/retry',
      asJson(TOKENS.actor, NOTHING, { 'content-type': 'text/plain' }),
      415,
    ],
    [
      'of another site',
      '/api/v1/dead-letters/retry',
      asJson(TOKENS.actor, NOTHING, { origin: 'https://evil.example.com' }),
      403,
    ],
    ['that is not JSON', '/api/v1/dead-letters/retry', asJson(TOKENS.actor, '{'), 400],
    [
      'that is too large',
      '/api/v1/dead-letters/retry',
      asJson(TOKENS.actor, `{"sink":"${'a'.repeat(70_000)}"}`),
      413,
    ],
    ['that chooses nothing', '/api/v1/dead-letters/drop', asJson(TOKENS.actor, '{}'), 400],
    [
      'with the id of a dead letter as cursor',
      '/api/v1/dead-letters/drop',
      asJson(TOKENS.actor, '{"all":true,"cursor":"1-1"}'),
      400,
    ],
    [
      'with a bound that is not an id',
      '/api/v1/dead-letters/drop',
      asJson(TOKENS.actor, '{"all":true,"until":"+"}'),
      400,
    ],
    [
      'with a key of prototypes',
      '/api/v1/dead-letters/drop',
      asJson(TOKENS.actor, '{"all":true,"__proto__":{"x":1}}'),
      400,
    ],
    ['for a stream with a parameter twice', '/api/v1/stream?outcome=dead&outcome=failed', READER, 400],
    ['by GET where POST is needed', '/api/v1/dead-letters/retry', READER, 404],
    ['by PUT', '/api/v1/overview', { ...READER, method: 'PUT' }, 405],
    ['by OPTIONS', '/api/v1/overview', { ...READER, method: 'OPTIONS' }, 405],
    ['by HEAD', '/api/v1/overview', { ...READER, method: 'HEAD' }, 200],
  ])('answers a request %s', async (_, path, init, status) => {
    const answer = await bed.ask(path, init)
    expect(answer.status).toBe(status)
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('names the methods that there are, and asks for a token', async () => {
    expect((await bed.ask('/api/v1/overview', { ...READER, method: 'PUT' })).headers.get('allow')).toBe(
      'GET, HEAD',
    )
    expect((await bed.ask('/api/v1/overview')).headers.get('www-authenticate')).toContain('Bearer')
  })

  test('answers with headers that keep browsers from guessing, framing and caching', async () => {
    const { headers } = await bed.ask('/api/v1/overview', READER)
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    })
  })

  test('answers probes and metrics without a token, as before', async () => {
    for (const path of ['/livez', '/readyz', '/metrics']) {
      const { status, headers } = await bed.ask(path)
      expect([path, status, headers.get('content-type')?.split(';')[0]]).toEqual([path, 200, 'text/plain'])
    }
  })

  test('writes actions into its log with who it was, and tokens nowhere', async () => {
    expect(logged).toContainEqual(
      expect.objectContaining({
        audit: true,
        who: 'token:actor',
        operation: 'retryDeadLetters',
        body: { sink: 'slow' },
      }),
    )
    for (const token of Object.values(TOKENS)) expect(JSON.stringify(logged)).not.toContain(token)
  })
})

test('refused requests are counted by reason, and logged once in a minute, without what was refused', async () => {
  const reasons = async (): Promise<Record<string, number>> => {
    const text = (await bed.ask('/metrics')).body as string
    const rows = text.matchAll(/^kubeherald_requests_refused_total\{reason="([\w-]+)"\} (\d+)$/gm)
    return Object.fromEntries([...rows].map(([, reason, count]) => [reason, Number(count)]))
  }
  const before = await reasons()
  expect(Object.keys(before).toSorted()).toEqual([...REFUSAL_REASONS].toSorted())
  const secret = 'never-a-token-0123456789'
  const overview = (headers: object) => bed.ask('/api/v1/overview', { headers: { ...headers } })
  for (let i = 0; i < 3; i++) await overview(bearer(secret))
  await overview({})
  await overview({ ...bearer(TOKENS.reader), origin: 'https://evil.example.com' })
  await bed.ask(`/api/v1/overview?token=${secret}`)
  await bed.ask('/api/v1/overview', SHOP)
  await bed.ask('/api/v1/dead-letters/retry', asJson(TOKENS.reader, NOTHING))
  const after = await reasons()
  const more = Object.entries(after).map(([reason, count]) => [reason, count - (before[reason] ?? 0)])
  expect(Object.fromEntries(more)).toEqual({
    ...{ 'no-token': 1, 'wrong-token': 3, origin: 1, 'token-in-url': 1, namespaces: 1, role: 1 },
    ...{ host: 0, 'not-local': 0 },
  })
  const lines = logged.filter(
    (it) => 'reason' in it && REFUSAL_REASONS.some((reason) => reason === it.reason),
  )
  const perReason = Map.groupBy(lines, (it) => ('reason' in it ? it.reason : ''))
  expect(perReason.get('wrong-token')).toHaveLength(1)
  expect(perReason.get('role')).toMatchObject([{ who: expect.stringContaining('reader'), peer: '127.0.0.1' }])
  expect([...perReason.values()].every((it) => it.length === 1)).toBe(true)
  expect(JSON.stringify(logged)).not.toContain(secret)
})

test('the next line about refused requests comes after a minute, with how many there were', () => {
  const lines: object[] = []
  const note = (fields: object) => void lines.push(fields)
  let nowMs = 0
  const refused = createRefusalLog(
    () => {},
    { debug: note, info: note, warn: note, error: note },
    () => nowMs,
  )
  const about = { reason: 'host', method: 'GET', path: '/', peer: '10.1.2.3', host: 'evil.test' } as const
  for (const ms of [0, 1, 59_999, 60_000]) {
    nowMs = ms
    refused(about)
  }
  expect(lines).toMatchObject([
    { reason: 'host', host: 'evil.test', requests: 1 },
    { reason: 'host', requests: 3 },
  ])
})

describe('a token for one namespace', () => {
  test.each(['overview', 'watches', 'sinks', 'sinks/good/lanes', 'rules', 'ledger', 'silences', 'incidents'])(
    'may not read %s',
    async (path) => {
      expect((await bed.ask(`/api/v1/${path}`, SHOP)).status).toBe(403)
    },
  )

  test('reads nothing of others, and all of its own', async () => {
    const paths = ['history?limit=500', 'objects?q=', 'dead-letters', 'objects/ConfigMap/pay/card/events']
    const answers = await Promise.all(paths.map((path) => bed.get(`/api/v1/${path}`, SHOP.headers)))
    expect(JSON.stringify(answers)).not.toContain('pay')
    expect(answers[0].items.map((it: any) => it.event.name)).toContain('web')
    expect(answers[2]).toMatchObject({ total: 1, items: [{ event: { name: 'bad-cart' } }] })
  })

  test('does not learn whether an event or a dead letter of others is there', async () => {
    const all = await bed.get('/api/v1/dead-letters', READER.headers)
    const { id, event } = all.items.find((it: any) => it.event.namespace === 'pay')
    for (const path of [`dead-letters/${id}`, `events/${encodeURIComponent(event.id)}`]) {
      const [other, none] = [
        await bed.ask(`/api/v1/${path}`, SHOP),
        await bed.ask(`/api/v1/${path.replace(/.[^.]{3}$/, '99-9')}`, SHOP),
      ]
      expect([other.status, none.status]).toEqual([404, none.status])
    }
    const dropped = await bed.ask(
      '/api/v1/dead-letters/drop',
      asJson(TOKENS.shop, JSON.stringify({ ids: [id] })),
    )
    expect(dropped.body).toMatchObject({ done: 0, failed: [{ id }] })
    const choice = await bed.ask('/api/v1/dead-letters/retry', asJson(TOKENS.shop, '{"all":true}'))
    expect(choice.body.done).toBe(1)
    expect((await bed.get('/api/v1/dead-letters', READER.headers)).items.map((it: any) => it.id)).toContain(
      id,
    )
  })
})

describe('hostile names of objects', () => {
  test.each(['__proto__', '..', 'evil\u202etxt'])('such as %j are data', async (name) => {
    const { items } = await bed.get(`/api/v1/objects?q=${encodeURIComponent(name)}`, READER.headers)
    expect(items.map((it: any) => it.name)).toContain(name)
    // A client takes `..` for a step of the path, so it is not asked for by that.
    const path = `/api/v1/objects/ConfigMap/shop/${name === '..' ? '%252e' : encodeURIComponent(name)}/events`
    const story = await bed.get(path, READER.headers)
    expect(story.items.length).toBe(name === '..' ? 0 : 1)
  })
})

async function raw(said: string): Promise<string> {
  const socket = connect(bed.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(said)
  return text(socket)
}
const HEADERS = `host: localhost\r\nauthorization: Bearer ${TOKENS.actor}\r\n`
const statusOf = (answer: string) => Number(answer.split(' ')[1])

test.each([
  '/assets/../../package.json',
  '/assets/..%2f..%2fpackage.json',
  '/assets/%2e%2e/%2e%2e/package.json',
  '/assets/....//package.json',
  '/assets/\\..\\..\\package.json',
  '//etc/passwd',
  '/api/v1/../../metrics',
  'http://elsewhere/api/v1/overview',
])('a path such as %s leads nowhere', async (path) => {
  expect(statusOf(await raw(`GET ${path} HTTP/1.1\r\n${HEADERS}connection: close\r\n\r\n`))).toBe(404)
})

test('a body that does not come is not waited for', { timeout: 20_000 }, async () => {
  const head = `POST /api/v1/dead-letters/drop HTTP/1.1\r\n${HEADERS}content-type: application/json\r\ncontent-length: 100\r\n\r\n{`
  expect(statusOf(await raw(head))).toBe(408)
})

test('a body that is longer than it may be is not read', async () => {
  const head = `POST /api/v1/dead-letters/drop HTTP/1.1\r\n${HEADERS}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`
  const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`
  expect(statusOf(await raw(head + chunk.repeat(5)))).toBe(413)
})

test('a caller who asks much does not keep others from it', async () => {
  const pending = Promise.withResolvers<never>()
  const running: string[] = []
  const handlers = {
    listHistory: ({ caller }: { caller: { name: string } }) => {
      running.push(caller.name)
      return pending.promise
    },
  } as unknown as Handlers
  const tokens = ['greedy', 'other'].map((name) => ({ name, role: 'read' as const, token: name.repeat(5) }))
  const api = createApi({ ready: async () => {}, handlers, stream: async () => {}, audit: () => {}, log })
  const site = createSite({ access: () => createAccess({ tokens }), api, onRefused() {} })
  const server = await startServer({
    ...{ host: '127.0.0.1', port: 0, metrics: createMetrics() },
    vitals: () => STARTING,
    site: async () => site,
  })
  const ask = (name: string) =>
    fetch(`${server.url}/api/v1/history`, { headers: bearer(name.repeat(5)) }).then(({ status }) => status)
  const all = Array.from({ length: 10 }, () => ask('greedy'))
  await waitFor(() => running.length === 2, { what: 'the first requests' })
  all.push(ask('other'))
  await waitFor(() => running.includes('token:other'), { what: 'the request of another caller' })
  expect(running).toEqual(['token:greedy', 'token:greedy', 'token:other'])
  pending.reject(new Error('over'))
  expect(new Set(await Promise.all(all))).toEqual(new Set([500]))
  await server.close()
})

test('an action that fails is in the log, too: part of it may have been done', async () => {
  const actions: unknown[] = []
  const handlers = {
    dropDeadLetters: () => Promise.reject(new Error('Connection is closed.')),
  } as unknown as Handlers
  const audit = (action: object) => void actions.push(action)
  const api = createApi({ ready: async () => {}, handlers, stream: async () => {}, audit, log })
  const site = createSite({ access: () => createAccess({}), api, onRefused() {} })
  const server = await startServer({
    ...{ host: '127.0.0.1', port: 0, metrics: createMetrics() },
    vitals: () => STARTING,
    site: async () => site,
  })
  const body = { sink: 'hook' }
  const { status } = await fetch(`${server.url}/api/v1/dead-letters/drop`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
  })
  expect(status).toBe(503)
  const result = expect.stringContaining('failed')
  expect(actions).toEqual([{ who: 'local', operation: 'dropDeadLetters', params: {}, body, result }])
  await server.close()
})

test('a caller has 64 requests at the same time, and probes do not wait for them', async () => {
  const pending = Promise.withResolvers<never>()
  let running = 0
  const handlers = {
    getAccess: () => {
      running++
      return pending.promise
    },
  } as unknown as Handlers
  const api = createApi({ ready: async () => {}, handlers, stream: async () => {}, audit: () => {}, log })
  const site = createSite({ access: () => createAccess({}), api, onRefused() {} })
  const server = await startServer({
    ...{ host: '127.0.0.1', port: 0, metrics: createMetrics() },
    vitals: () => STARTING,
    site: async () => site,
  })
  const all = Array.from({ length: 64 }, () => fetch(`${server.url}/api/v1/access`))
  await waitFor(() => running === 64, { what: 'the requests' })
  expect((await fetch(`${server.url}/api/v1/access`)).status).toBe(503)
  expect((await fetch(`${server.url}/livez`)).status).toBe(200)
  pending.reject(new Error('over'))
  expect((await Promise.all(all)).every(({ status }) => status === 500)).toBe(true)
  await server.close()
})

const run = promisify(execFile)

test.each(commandsIn('docs/api.md').map(({ place, text }) => [place, text]))(
  'the example at %s works',
  async (_, command) => {
    const { items } = await bed.get('/api/v1/history', READER.headers)
    const env = { ...process.env, URL: bed.url, TOKEN: TOKENS.actor, ID: items[0].event.id }
    const isStream = command.includes('/stream')
    const begin = run('bash', ['-c', command.replace('curl ', isStream ? 'curl --max-time 1 ' : 'curl ')], {
      env,
    })
    // A stream does not end: curl ends it with 28.
    const { stdout, code } = (await begin.catch((error: { code: number; stdout: string }) => error)) as {
      stdout: string
      code?: number
    }
    expect([code ?? 0, stdout]).toEqual([
      isStream ? 28 : 0,
      expect.stringMatching(isStream ? /^retry: / : /^[[{]/),
    ])
  },
)
