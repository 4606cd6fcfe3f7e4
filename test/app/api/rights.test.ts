import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { HistoryRecord } from '../../../src/model/history-record.ts'
import { type AccessSettings, createAccess } from '../../../src/observe/server/access.ts'
import { type ApiCall, createSite } from '../../../src/observe/server/site.ts'
import { encodeEntries } from '../../../src/store/entry.ts'
import { packHistory } from '../../../src/store/history/history-format.ts'
import { LAST_FAILURE } from '../../../src/store/lanes/delivery-policy.ts'
import { headerFor } from '../../store/objects.ts'
import { waitFor } from '../../wait-for.ts'
import { type ApiBed, bearer, startApiBed, TOKENS, WITH_TOKENS } from './bed.ts'

const RULES = `
  - { name: everything, to: [good] }
  - { name: of-teams, when: { kind: ConfigMap, namespace: [shop, hidden-team], name: [named, hidden-team-db] }, if: 'object.metadata.name != "hidden-team"', to: [good] }
  - { name: untestable, when: { name: too-long, annotations: { note: "/hidden-team(a|b){1,400}z/" } }, onError: deliver, to: [other] }
  - { name: limited, when: { name: limited }, to: [slow], throttle: { every: 1s } }
  - { name: odd-groups, when: { name: "odd-*" }, to: [slow], group: { by: kind, wait: 1s } }
  - { name: bad-groups, when: { name: "bad-*" }, to: [slow], group: { by: kind, wait: 1s } }`

let bed: ApiBed
beforeAll(async () => {
  bed = await startApiBed({ server: WITH_TOKENS, rules: RULES })
})
afterAll(() => bed?.[Symbol.asyncDispose]())

const SHOP = { headers: bearer(TOKENS.shop) }
const READER = { headers: bearer(TOKENS.reader) }
const asJson = (token: string, body: object) => ({
  method: 'POST',
  headers: { ...bearer(token), 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

/** The record, waiting delivery or dead letter of the digest of the rule. */
async function outcomeOf(path: string, rule: string, outcome: string): Promise<any> {
  return waitFor(
    async () => {
      const { items } = await bed.get(path, READER.headers)
      return items
        .flatMap((it: any) => it.outcomes.map((of: any) => ({ id: it.id, ...of })))
        .find(
          (it: any) => it.rule === rule && it.outcome === outcome && (outcome !== 'dead' || it.deadLetterId),
        )
    },
    { what: `${rule} ${outcome}` },
  )
}

test('a token with namespaces gets the rules that match an event, without their place', async () => {
  bed.change('ADDED', 'shop', 'plain')
  const { id } = await outcomeOf('/api/v1/objects/ConfigMap/shop/plain/events', 'everything', 'delivered')
  const path = `/api/v1/events/${encodeURIComponent(id)}`
  const rulesFor = async (caller: object) => (await bed.ask(path, caller)).body.rules
  const all = await waitFor(() => rulesFor(READER), { what: 'the event in the journal' })
  expect(all.map(({ rule }: any) => rule)).toEqual([
    'everything',
    'of-teams',
    'untestable',
    'limited',
    'odd-groups',
    'bad-groups',
  ])
  expect(all[0].place).toBeDefined()
  const own = await rulesFor(SHOP)
  expect(own.map(({ rule }: any) => rule)).toEqual(['everything'])
  expect(own[0].place).toBeUndefined()
})

test('for a token with namespaces the journal is not searched for an unknown event', async () => {
  const redis = new Redis(bed.redis.url)
  // It shows when the journal is read.
  const entry = await redis.xadd(bed.keys.journal, '*', 'z', 'unreadable')
  const path = `/api/v1/events/${encodeURIComponent('cluster/uid-of-nothing/1/ADDED')}`
  expect((await bed.ask(path, READER)).status).toBe(500)
  expect((await bed.ask(path, SHOP)).status).toBe(404)
  await redis.xdel(bed.keys.journal, entry ?? '')
  redis.disconnect()
})

test('a token with namespaces does not get values of conditions that name others', async () => {
  bed.change('ADDED', 'shop', 'named')
  const { id } = await outcomeOf('/api/v1/objects/ConfigMap/shop/named/events', 'everything', 'delivered')
  const path = `/api/v1/events/${encodeURIComponent(id)}`
  const ruleFor = async (caller: object) =>
    (await bed.ask(path, caller)).body.rules?.find(({ rule }: any) => rule === 'of-teams')
  const whole = await waitFor(() => ruleFor(READER), { what: 'the event in the journal' })
  expect(JSON.stringify(whole)).toContain('hidden-team')
  const own = await ruleFor(SHOP)
  expect(JSON.stringify(own)).not.toContain('hidden-team')
  const namesOf = ({ conditions }: any) => conditions.map(({ name }: any) => name)
  expect(namesOf(own)).toEqual(namesOf(whole))
  const shown = own.conditions.map(({ name, expected, seen, holds }: any) => [name, expected, seen, holds])
  expect(shown).toContainEqual(['kind', 'ConfigMap', 'ConfigMap', true])
  expect(shown).toContainEqual(['namespace', undefined, 'shop', true])
})

test('nor those of a condition that could not be tested', async () => {
  const metadata = { name: 'too-long', namespace: 'shop', uid: 'uid-too-long', resourceVersion: '9003' }
  const annotations = { note: 'x'.repeat(5_000) }
  bed.change('ADDED', 'shop', 'too-long', { metadata: { ...metadata, annotations } })
  const story = '/api/v1/objects/ConfigMap/shop/too-long/events'
  const { id } = await outcomeOf(story, 'untestable', 'delivered')
  const path = `/api/v1/events/${encodeURIComponent(id)}`
  const errorsFor = async (caller: object) =>
    (await bed.ask(path, caller)).body.rules
      ?.find(({ rule }: any) => rule === 'untestable')
      ?.conditions.map(({ error = '' }: any) => error)
      .join('')
  const whole = await waitFor(() => errorsFor(READER), { what: 'the event in the journal' })
  expect(whole).toContain('hidden-team')
  expect(await errorsFor(SHOP)).toBe('')
})

test.each([
  ['waits', 'odd-groups', 'odd-', 'waiting'],
  ['is a dead letter', 'bad-groups', 'bad-', 'dead'],
])('a digest that %s shows nothing of other namespaces', async (_, rule, name, outcome) => {
  bed.change('ADDED', 'shop', `${name}one`)
  bed.change('ADDED', 'pay', `${name}hidden`)
  const { id, deadLetterId } = await outcomeOf(
    `/api/v1/objects/ConfigMap/shop/${name}one/events`,
    rule,
    outcome,
  )
  const path = `/api/v1/events/${encodeURIComponent(id)}`
  expect(JSON.stringify((await bed.ask(path, READER)).body)).toContain(`${name}hidden`)
  const { status, body } = await bed.ask(path, SHOP)
  expect(status).toBe(200)
  expect(JSON.stringify(body)).not.toContain(`${name}hidden`)
  if (outcome !== 'dead') return
  const choice = asJson(TOKENS.shop, { ids: [deadLetterId] })
  expect((await bed.ask('/api/v1/dead-letters/drop', choice)).body).toMatchObject({ done: 0 })
  expect((await bed.ask(`/api/v1/dead-letters/${deadLetterId}`, READER)).status).toBe(200)
})

test('a token with namespaces gets no answer of a sink about objects of others', async () => {
  const redis = new Redis(bed.redis.url)
  const answer = 'HTTP 422: value-of-pay'
  const detail = `more waited than the queue may have${LAST_FAILURE}rejected: ${answer}`
  const event = { ...headerFor('given-up', '77', 'MODIFIED', 'uid-of-given-up'), namespace: 'shop' }
  const { id, type, apiVersion, kind, namespace, name } = event
  const about = { sink: 'good', rule: 'everything', reason: 'queue-full', detail }
  const [entry] = encodeEntries([{ ...about, event, objectJson: Buffer.from('{}') }])
  const fields = Object.entries({ ...about, lane: 'good/n0' }).flat()
  const letter = await redis.xadd(bed.keys.deadLetters, '*', ...fields, 'z', entry?.payload ?? '')
  const record: HistoryRecord = {
    ...{
      outcome: 'dead',
      atMs: Date.now(),
      rule: 'everything',
      sinks: ['good'],
      reason: 'queue-full',
      detail,
    },
    attempts: [{ atMs: Date.now(), tookMs: 1, error: answer }],
    event: { id, type, apiVersion, kind, namespace, name },
  }
  await redis.xadd(bed.keys.history, '*', 'z', packHistory([[record]]))
  const paths = [
    '/api/v1/dead-letters?reason=queue-full',
    `/api/v1/dead-letters/${letter}`,
    `/api/v1/events/${encodeURIComponent(id)}`,
    '/api/v1/objects/ConfigMap/shop/given-up/events',
    '/api/v1/history?outcome=dead&name=given-up',
  ]
  for (const path of paths) {
    const [whole, own] = [await bed.ask(path, READER), await bed.ask(path, SHOP)]
    expect([path, whole.status, own.status]).toEqual([path, 200, 200])
    expect(JSON.stringify(whole.body)).toContain('value-of-pay')
    expect(JSON.stringify(own.body)).toContain('given-up')
    expect(JSON.stringify(own.body)).not.toContain('value-of-pay')
  }
  await redis.xdel(bed.keys.deadLetters, letter ?? '')
  redis.disconnect()
})

test('a silence whose pattern cannot test a value neither loses the event nor stops its watch', async () => {
  const untilMs = Date.now() + 600_000
  const match = { annotations: { note: '/(a|b){1,400}z/' } }
  const applied = async () => (await bed.app.metrics.silences.get()).values[0]?.value ?? 0
  const before = await applied()
  const added = await bed.ask('/api/v1/silences', asJson(TOKENS.actor, { match, untilMs, reason: 'deploy' }))
  expect(added.status).toBe(200)
  await waitFor(async () => (await applied()) === before + 1, { what: 'the silence in force' })
  const metadata = (name: string, resourceVersion: string) => ({
    metadata: {
      ...{ name, namespace: 'shop', uid: `uid-${name}`, resourceVersion },
      annotations: { note: 'x'.repeat(5_000) },
    },
  })
  bed.change('ADDED', 'shop', 'plain', metadata('plain', '9001'))
  bed.change('ADDED', 'shop', 'limited', metadata('limited', '9002'))
  for (const name of ['plain', 'limited'])
    await waitFor(
      async () =>
        (await bed.get(`/api/v1/objects/ConfigMap/shop/${name}/events`, READER.headers)).items.some(
          (it: any) => it.outcomes.some((of: any) => of.outcome === 'delivered'),
        ),
      { what: `the delivery of ${name}` },
    )
  const { id } = added.body
  const { items } = await bed.get('/api/v1/silences', READER.headers)
  // One of the two objects is of two rules.
  expect(items.find((it: any) => it.id === id)).toMatchObject({ suppressed: 0, untested: 3 })
})

test('times that no Date can have are refused', async () => {
  const times = { fromMs: Number.MAX_SAFE_INTEGER, untilMs: Number.MAX_SAFE_INTEGER }
  const body = { match: { rule: 'everything' }, ...times, reason: 'deploy' }
  expect((await bed.ask('/api/v1/silences', asJson(TOKENS.actor, body))).status).toBe(400)
})

test.each([
  ['deep', `{"match":{"name":${'['.repeat(30_000)}${']'.repeat(30_000)}}`],
  [
    'large',
    JSON.stringify({ match: { name: Array.from({ length: 900 }, (_, i) => `/a${i}(a|b){1,90}/`) } }).slice(
      0,
      -1,
    ),
  ],
])('a %s match is refused before it is compiled', async (_, head) => {
  const init = asJson(TOKENS.actor, {})
  const body = `${head},"untilMs":${Date.now() + 60_000},"reason":"deploy"}`
  expect((await bed.ask('/api/v1/silences', { ...init, body })).status).toBe(409)
})

test('a stream of a token ends when the token gets other rights', async () => {
  const token = { name: 'ci', role: 'read', token: TOKENS.reader } as const
  const accessOf = (of: NonNullable<AccessSettings['tokens']>[number]) => createAccess({ tokens: [of] })
  let access = accessOf(token)
  const calls: ApiCall[] = []
  const site = createSite({
    ...{ access: () => access, onRefused() {} },
    api: async (call) => void calls.push(call),
  })
  const headers = { host: 'herald.test', ...bearer(TOKENS.reader) }
  const request = { method: 'GET', url: '/api/v1/stream', headers, socket: { remoteAddress: '10.1.2.3' } }
  await site(request as never, {} as never)
  access = accessOf({ ...token })
  expect(calls[0]?.isStillAllowed()).toBe(true)
  access = accessOf({ ...token, namespaces: ['shop'] })
  expect(calls[0]?.isStillAllowed()).toBe(false)
})

test('a question mark within a query is part of it', async () => {
  const calls: ApiCall[] = []
  const access = createAccess({ tokens: [{ name: 'ci', role: 'read', token: TOKENS.reader }] })
  const site = createSite({
    access: () => access,
    onRefused() {},
    api: async (call) => void calls.push(call),
  })
  const headers = { host: 'herald.test', ...bearer(TOKENS.reader) }
  const socket = { remoteAddress: '10.1.2.3' }
  for (const url of ['/api/v1/history?text=why?&limit=5', '/api/v1/history'])
    await site({ method: 'GET', url, headers, socket } as never, {} as never)
  expect(calls.map(({ path }) => path)).toEqual(['/api/v1/history', '/api/v1/history'])
  expect(calls.map(({ query }) => [...query])).toEqual([
    [
      ['text', 'why?'],
      ['limit', '5'],
    ],
    [],
  ])
})
