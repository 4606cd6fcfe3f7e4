import { readFileSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApi } from '../../../src/app/api/openapi.ts'
import { waitFor } from '../../wait-for.ts'
import { type ApiBed, expectSchema, startApiBed } from './bed.ts'

let bed: ApiBed
beforeAll(async () => {
  bed = await startApiBed()
  bed.change('ADDED', 'shop', 'web')
  bed.change('MODIFIED', 'shop', 'web')
  bed.change('ADDED', 'pay', 'bad-card')
  bed.change('ADDED', 'shop', 'odd-one')
  bed.change('ADDED', 'shop', 'news-1')
  bed.change('MODIFIED', 'shop', 'news-1')
  await waitFor(
    async () => {
      const { items } = (await bed.ask('/api/v1/history')).body
      const outcomes = items?.map((it: any) => it.outcome) ?? []
      return (
        ['delivered', 'dead', 'failed', 'suppressed'].every((it) => outcomes.includes(it)) &&
        items.length >= 9
      )
    },
    { what: 'the history' },
  )
})
afterAll(() => bed?.[Symbol.asyncDispose]())

test('the document is valid OpenAPI 3.1, is the one in docs, and is served', async () => {
  const document = openApi()
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined })
  expect(JSON.parse(readFileSync('docs/openapi.json', 'utf8'))).toEqual(document)
  expect((await bed.ask('/api/v1/openapi.json')).body).toEqual(document)
})

describe('every answer agrees with the document', () => {
  test.each([
    '/api/v1/access',
    '/api/v1/overview',
    '/api/v1/watches',
    '/api/v1/sinks',
    '/api/v1/sinks/good/lanes',
    '/api/v1/rules',
    '/api/v1/ledger',
    '/api/v1/objects?q=web',
    '/api/v1/objects/ConfigMap/shop/web/events',
    '/api/v1/history',
    '/api/v1/dead-letters',
    '/api/v1/silences',
    '/api/v1/incidents',
  ])('%s', async (path) => {
    await bed.get(path)
  })
})

const BUTTONS = 'sink other: buttons have not worked for 3 min'

test('the overview has what happens now', async () => {
  const overview = await bed.get('/api/v1/overview')
  expect(overview).toMatchObject({
    ...{ cluster: 'test', access: 'act', deadLetters: 1, balanced: true },
    watches: { total: 1, failing: 0 },
    sinks: { total: 3 },
    processes: [{ role: 'all', pid: process.pid }],
  })
  await waitFor(async () => (await bed.get('/api/v1/overview')).troubles.includes(BUTTONS), {
    what: 'the warning of a sink',
  })
  expect(overview.historyFromMs).toBeGreaterThan(0)
  expect(overview.journalFromMs).toBeGreaterThan(0)
})

test('a sink is ok, and its object in quarantine is named by the lane', async () => {
  await waitFor(async () => (await bed.get('/api/v1/sinks')).items.some((it: any) => it.quarantined > 0), {
    what: 'the quarantine in the report',
  })
  const { items } = await bed.get('/api/v1/sinks')
  expect(items.map(({ name, type }: any) => [name, type])).toEqual([
    ['good', 'scripted'],
    ['slow', 'scripted'],
    ['other', 'scripted'],
  ])
  expect(items[0]).toMatchObject({ health: 'partly', quarantined: 1, dead: 1 })
  expect(items[2]).toMatchObject({ warnings: ['buttons have not worked for 3 min'] })
  const lanes = await bed.get('/api/v1/sinks/good/lanes')
  expect(lanes.items).toMatchObject([{ quarantine: true, pending: 1, object: 'ConfigMap shop/odd-one' }])
  expect(lanes.items[0].process).toContain(String(process.pid))
})

test('a rule has its place, its YAML without secrets, and its counts', async () => {
  const { items } = await bed.get('/api/v1/rules')
  expect(items[1]).toMatchObject({ name: 'rarely', to: ['slow'], suppressed: { throttle: 2 }, matched: 4 })
  expect(items[1].file).toBe('/etc/kubeherald/kubeherald.yaml')
  expect(items[1].line).toBe(8)
  expect(items[1].yaml).toContain('throttle:')
  expect(items[0].matched).toBe(6)
})

test('the equations of the ledger hold', async () => {
  await waitFor(async () => (await bed.get('/api/v1/ledger')).sums.sinks.pending <= 2, { what: 'deliveries' })
  const ledger = await bed.get('/api/v1/ledger')
  expect(ledger).toMatchObject({ balanced: true, off: [] })
  expect(ledger.sums.watches.observed).toBe(6)
  const { enqueued, delivered, dead, pending } = ledger.sums.sinks
  expect(enqueued).toBe(delivered + dead + pending)
})

describe('objects are found', () => {
  test.each([
    ['web', 'web'],
    ['cm/shop/web', 'web'],
    ['shop/web', 'web'],
    ['ConfigMap odd', 'odd-one'],
    ['bad', 'bad-card'],
  ])('by %s', async (q, name) => {
    const { items, isComplete } = await bed.get(`/api/v1/objects?q=${encodeURIComponent(q)}`)
    expect(items.map((it: any) => it.name)).toEqual([name])
    expect(isComplete).toBe(true)
  })

  test('and what is unknown has what is watched and since when', async () => {
    const found = await bed.get('/api/v1/objects?q=nowhere')
    expect(found).toMatchObject({ items: [], watched: [expect.stringContaining('configmaps')] })
    expect(found.historyFromMs).toBeGreaterThan(0)
  })
})

test('the story of an object has a row per event with the outcome at each sink', async () => {
  const { items } = await bed.get('/api/v1/objects/cm/shop/web/events')
  expect(
    items.map(({ type, outcomes }: any) => [
      type,
      outcomes.map((it: any) => [it.sink, it.outcome]).toSorted(),
    ]),
  ).toEqual([
    [
      'MODIFIED',
      [
        ['good', 'delivered'],
        ['slow', 'suppressed'],
      ],
    ],
    [
      'ADDED',
      [
        ['good', 'delivered'],
        ['slow', 'delivered'],
      ],
    ],
  ])
  const [newest, first] = items
  const suppressed = newest.outcomes.find((it: any) => it.sink === 'slow')
  expect(suppressed.limit).toBe('throttle')
  // An hour after the first one was observed, which is before it was delivered.
  const sent = first.outcomes.find((it: any) => it.sink === 'slow')
  expect(suppressed.untilMs - sent.atMs).toBeGreaterThan(3_590_000)
  expect(suppressed.untilMs - sent.atMs).toBeLessThanOrEqual(3_600_000)
  const event = await bed.get(`/api/v1/events/${encodeURIComponent(newest.id)}`)
  expect(event.sinks.find((it: any) => it.sink === 'slow').untilMs).toBe(suppressed.untilMs)
})

test('a title is what the reader sees, without the marks of its sink', async () => {
  const { items } = await bed.get('/api/v1/history?rule=rarely&outcome=delivered')
  expect(items.map(({ title }: any) => title).toSorted()).toEqual(['news-1 changed', 'web changed'])
  const event = await bed.get(`/api/v1/events/${encodeURIComponent(items[0].event.id)}`)
  const { notification } = event.sinks.find((it: any) => it.sink === 'slow')
  expect(notification.title).toMatch(/^\S+ changed$/)
})

test('a story in pages has each record once', async () => {
  const seen: string[] = []
  for (let next: string | undefined = ''; next !== undefined; ) {
    const page: any = await bed.get(`/api/v1/objects/cm/shop/web/events?limit=1${next && `&cursor=${next}`}`)
    for (const { id, outcomes } of page.items) for (const it of outcomes) seen.push(`${id} ${it.sink}`)
    next = page.next
  }
  expect(seen).toHaveLength(4)
  expect(new Set(seen).size).toBe(4)
})

test('a waiting delivery and a dead letter are in the stories of their objects', async () => {
  const odd = await bed.get('/api/v1/objects/ConfigMap/shop/odd-one/events')
  const outcomes = odd.items[0].outcomes.filter((it: any) => it.sink === 'good').map((it: any) => it.outcome)
  expect(outcomes).toContain('waiting')
  const bad = await bed.get('/api/v1/objects/ConfigMap/pay/bad-card/events')
  const dead = bad.items[0].outcomes.find((it: any) => it.outcome === 'dead')
  expect(dead).toMatchObject({ sink: 'good', reason: 'rejected', attempts: 1 })
  expect(dead.deadLetterId).toMatch(/^\d+-\d+$/)
})

test('an event has its changes, its rules with reasons, its attempts and its notification', async () => {
  const { items } = await bed.get('/api/v1/objects/ConfigMap/shop/news-1/events')
  const event = await bed.get(`/api/v1/events/${encodeURIComponent(items[0].id)}`)
  expect(event.event).toMatchObject({
    kind: 'ConfigMap',
    namespace: 'shop',
    name: 'news-1',
    type: 'MODIFIED',
  })
  expect(event.changes).toMatchObject([{ path: 'data.step' }])
  const news = event.rules.find((it: any) => it.rule === 'news')
  expect(news.verdict).toBe('matches')
  expect(news.conditions.map((it: any) => [it.name, it.holds])).toContainEqual(['name', true])
  expect(event.rules.find((it: any) => it.rule === 'rarely').result).toMatchObject({
    outcome: 'suppressed',
    limit: 'throttle',
  })
  const line = event.sinks.find((it: any) => it.sink === 'good')
  expect(line).toMatchObject({ outcome: 'delivered', attemptCount: 1, notification: { target: '#shop' } })
  expect(line.notification.title).toContain('shop/news-1')
  expect(line.attempts[0].tookMs).toBeGreaterThanOrEqual(0)
  // A path with slashes that a proxy decoded.
  expect((await bed.ask(`/api/v1/events/${items[0].id}`)).body.id).toBe(items[0].id)
})

test('values of environment variables are hidden in what is rendered', async () => {
  const { items } = await bed.get('/api/v1/objects/ConfigMap/shop/news-1/events')
  const { body } = await bed.ask(`/api/v1/events/${encodeURIComponent(items[0].id)}`)
  expect(body.sinks.find((it: any) => it.sink === 'other').notification.target).toBe('***')
  expect(JSON.stringify(body)).not.toContain('secret-target')
})

test('the history is filtered, and goes on behind a cursor', async () => {
  const dead = await bed.get('/api/v1/history?outcome=dead')
  expect(dead.items).toMatchObject([{ outcome: 'dead', event: { name: 'bad-card' }, sinks: ['good'] }])
  const all = await bed.get('/api/v1/history?limit=500&sink=good')
  const seen: string[] = []
  for (let next: string | undefined = ''; next !== undefined; ) {
    const page: any = await bed.get(`/api/v1/history?sink=good&limit=2${next && `&cursor=${next}`}`)
    seen.push(...page.items.map((it: any) => `${it.event.id} ${it.outcome} ${it.atMs}`))
    next = page.next
  }
  expect(seen.slice(0, all.items.length)).toEqual(
    all.items.map((it: any) => `${it.event.id} ${it.outcome} ${it.atMs}`),
  )
  const one = await bed.get('/api/v1/history?kind=cm&namespace=shop&name=web&rule=everything')
  expect(one.items).toHaveLength(2)
})

test('dead letters are listed, counted by sink and reason, shown, retried and dropped', async () => {
  const { items, groups, total } = await bed.get('/api/v1/dead-letters?reason=rejected')
  expect([total, groups]).toMatchObject([1, [{ sink: 'good', reason: 'rejected', count: 1 }]])
  const id = items[0].id
  const one = await bed.get(`/api/v1/dead-letters/${id}`)
  expect(JSON.parse(one.object).metadata.name).toBe('bad-card')
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await bed.ask(`/api/v1/dead-letters/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    expect(answer.status).toBe(200)
    expectSchema('post', `/api/v1/dead-letters/${path}`, answer.body)
    return answer.body
  }
  expect(await post('retry', { sink: 'slow' })).toEqual({ done: 0, failed: [], left: false })
  expect(await post('retry', { ids: [id] })).toEqual({ done: 1, failed: [], left: false })
  // It is refused again.
  await waitFor(async () => (await bed.get('/api/v1/dead-letters')).items.some((it: any) => it.id !== id), {
    what: 'the dead letter again',
  })
  expect((await post('drop', { ids: [id] })).failed).toMatchObject([{ id }])
  expect((await post('drop', { all: true })).done).toBe(1)
  expect((await bed.get('/api/v1/dead-letters')).items).toEqual([])
})

test('of an object with many waiting deliveries a page has those of the newest events', async () => {
  const path = '/api/v1/objects/ConfigMap/shop/odd-many/events'
  for (let i = 0; i < 6; i++) bed.change('MODIFIED', 'shop', 'odd-many')
  const waiting = ({ items }: any) =>
    items.filter(({ outcomes }: any) => outcomes.some((it: any) => it.outcome === 'waiting'))
  const all = await waitFor(
    async () => {
      const story = await bed.get(path)
      return waiting(story).length === 6 && story
    },
    { what: 'all that waits' },
  )
  expect(all.isComplete).toBe(true)
  const page = await bed.get(`${path}?limit=2`)
  expect(waiting(page).map(({ id }: any) => id)).toEqual(all.items.slice(0, 2).map(({ id }: any) => id))
  expect(page.isComplete).toBe(false)
})

test.each([
  ['/api/v1/nothing', 404],
  ['/api/v1/sinks/nobody/lanes', 404],
  ['/api/v1/events/no-event', 400],
  ['/api/v1/events/a%2Fb%2F1%2FADDED', 404],
  ['/api/v1/dead-letters/1-1', 404],
  ['/api/v1/history?limit=501', 400],
  ['/api/v1/history?cursor=x', 400],
  ['/api/v1/history?wish=1', 400],
  ['/api/v1/history?sink=a&sink=b', 400],
  ['/api/v1/overview?sink=a', 400],
  ['/api/v1/objects/a/b/%ff/events', 404],
])('%s is a problem with status %i', async (path, status) => {
  const answer = await bed.ask(path)
  expect(answer.status).toBe(status)
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(answer.body).toMatchObject({ type: 'about:blank', status, title: expect.any(String) })
  expect(answer.body.detail).not.toMatch(/\n|at .*\.ts/)
})

test('a notification is rendered again with the time of now', async () => {
  const text = '{{ "2020-01-01T00:00:00Z" | age }}'
  const rules = `[{ name: all, to: [good], message: { text: '${text}' } }]`
  await using own = await startApiBed({ rules })
  own.change('ADDED', 'shop', 'bad-age')
  const letter = await waitFor(async () => (await own.ask('/api/v1/dead-letters')).body.items[0], {
    what: 'the dead letter',
  })
  const { body } = await own.ask(`/api/v1/events/${encodeURIComponent(letter.event.id)}`)
  expect(body.sinks[0].notification.text).toMatch(/^\d+y/)
})
