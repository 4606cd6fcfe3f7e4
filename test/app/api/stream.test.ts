import { EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import {
  createHistoryPages,
  newestPosition,
  type Placed,
  type Position,
  positionAfter,
} from '../../../src/app/api/history-tail.ts'
import { createStreams, MOST_CLIENTS_OF_ONE } from '../../../src/app/api/stream.ts'
import { outgoing } from '../../../src/app/api/stream-messages.ts'
import { WorkClock } from '../../../src/app/api/work-share.ts'
import type { HistoryRecord } from '../../../src/model/history-record.ts'
import type { ApiCall } from '../../../src/observe/server/site.ts'
import { packHistory } from '../../../src/store/history/history-format.ts'
import { waitFor } from '../../wait-for.ts'
import { type ApiBed, bearer, expectSchema, startApiBed, TOKENS, WITH_TOKENS } from './bed.ts'

let bed: ApiBed
let redis: Redis
beforeAll(async () => {
  bed = await startApiBed({ server: WITH_TOKENS })
  redis = new Redis(bed.redis.url)
})
afterAll(async () => {
  redis?.disconnect()
  await bed?.[Symbol.asyncDispose]()
})

interface Received {
  event: string
  id: string | undefined
  data: any
}

/** A client of the stream, as services write it: by fetch, since an EventSource has no headers. */
async function follow(query = '', { token = TOKENS.reader, last = '' } = {}) {
  const leaving = new AbortController()
  const headers = { ...bearer(token), ...(last && { 'last-event-id': last }) }
  const response = await fetch(`${bed.url}/api/v1/stream${query}`, { headers, signal: leaving.signal })
  const events: Received[] = []
  let position: string | undefined
  const reading = (async () => {
    let rest = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      rest += chunk
      for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n')) {
        const fields = new Map(
          rest
            .slice(0, end)
            .split('\n')
            .map((line): [string, string] => {
              const [name = '', ...value] = line.split(': ')
              return [name, value.join(': ')]
            }),
        )
        rest = rest.slice(end + 2)
        position = fields.get('id') ?? position
        const data = fields.get('data')
        if (data !== undefined)
          events.push({ event: fields.get('event') ?? '', id: fields.get('id'), data: JSON.parse(data) })
      }
    }
  })().catch(() => {})
  if (response.status === 200) await waitFor(() => position !== undefined, { what: 'the position' })
  return {
    status: response.status,
    events,
    names: () => events.filter(({ event }) => event === 'record').map(({ data }) => data.event.name),
    position: () => position,
    async leave() {
      leaving.abort()
      await reading
    },
  }
}

const record = (name: string, namespace = 'shop'): HistoryRecord => ({
  ...{ outcome: 'delivered', atMs: Date.now(), rule: 'everything', sinks: ['good'], attempts: [] },
  event: { id: `c/uid-${name}/1/ADDED`, type: 'ADDED', apiVersion: 'v1', kind: 'ConfigMap', namespace, name },
})

/** Records in one entry, as an acknowledgement appends them. */
const append = (...names: string[]) =>
  redis.xadd(bed.keys.history, '*', 'z', packHistory([names.map((it) => record(it))]))

test('the first requests wait together for the connection to Redis', async () => {
  const warnings: Error[] = []
  const note = (warning: Error) => void warnings.push(warning)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  const asked = await Promise.all(
    Array.from({ length: 30 }, () => bed.ask('/api/v1/access', { headers: bearer(TOKENS.reader) })),
  )
  expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([200]))
  expect(warnings).toEqual([])
})

test('records come as they are written, by the filters of the client', async () => {
  const all = await follow()
  const shop = await follow('?namespace=shop&outcome=delivered&sink=good')
  bed.change('ADDED', 'shop', 'cart')
  bed.change('ADDED', 'pay', 'bill')
  await waitFor(() => all.names().length === 2 && shop.names().length === 1, { what: 'the records' })
  expect(all.names().toSorted()).toEqual(['bill', 'cart'])
  expect(shop.names()).toEqual(['cart'])
  expectSchema('get', '/api/v1/history', { items: all.events.map(({ data }) => data) })
  await Promise.all([all.leave(), shop.leave()])
})

test('a token for a namespace gets its records only', async () => {
  const [all, own] = [await follow(), await follow('', { token: TOKENS.shop })]
  bed.change('ADDED', 'pay', 'secret-bill')
  bed.change('ADDED', 'shop', 'own')
  await waitFor(() => all.names().length === 2 && own.names().length === 1, { what: 'the records' })
  expect(own.names()).toEqual(['own'])
  await Promise.all([all.leave(), own.leave()])
})

test('a client that comes back gets what it missed, each once, also in the middle of an entry', async () => {
  const first = await follow()
  await append('one', 'two', 'three')
  await waitFor(() => first.names().length === 3, { what: 'the records' })
  const [, middle] = first.events
  await first.leave()
  await append('four')
  const next = await follow('', { last: middle?.id ?? '' })
  await waitFor(() => next.names().length === 2, { what: 'what was missed' })
  await append('five')
  await waitFor(() => next.names().length === 3, { what: 'what came later' })
  const names = first.names()
  expect(next.names()).toEqual([names[2], 'four', 'five'])
  await next.leave()
})

test('a position that is no longer in the history is a gap', async () => {
  const client = await follow('', { last: '5-1.0~0-0.0' })
  expect(client.events[0]).toMatchObject({ event: 'gap', data: { why: 'trimmed' } })
  await client.leave()
  expect((await follow('', { last: 'nonsense' })).status).toBe(400)
})

/** A client that asks and reads nothing. */
async function open(token: string): Promise<Socket> {
  const socket = connect(bed.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`GET /api/v1/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`)
  return socket
}

/** The answer to a client of which so many bytes are unread. */
class Unread extends EventEmitter {
  writableLength = 0
  destroyed = false
  headersSent = false
  text = ''
  /** Whether what is written is unread. */
  isCounting = false
  /** As Node has it: it emits `drain` only if so much was unread. */
  get writableNeedDrain(): boolean {
    return this.writableLength >= 65_536
  }
  writeHead() {}
  flushHeaders() {}
  write(chunk: Buffer | string) {
    this.text += chunk
    if (this.isCounting) this.writableLength += chunk.length
  }
  end(chunk: Buffer | string) {
    this.write(chunk)
  }
  destroy() {
    this.destroyed = true
    this.emit('close')
  }
}

/** Streams of their own, and clients of them whose sockets the test has in hand. */
function openStreams(of = redis) {
  const streams = createStreams({ redis: () => of, ready: async () => {}, keys: bed.keys })
  onTestFinished(() => streams.close())
  return {
    join({
      filter = '',
      last = '',
      unread = 0,
      caller = 'a',
      hasLeft = false,
      isStillAllowed = (): boolean => true,
    } = {}) {
      const response = new Unread()
      response.writableLength = unread
      if (hasLeft) response.destroy()
      const call = { request: { headers: { 'last-event-id': last }, method: 'GET' }, response }
      const query = new URLSearchParams(filter)
      const of = { caller: { name: caller, role: 'read' }, isStillAllowed }
      return { response, served: streams.serve({ ...call, query, ...of } as unknown as ApiCall) }
    },
  }
}

test('a client that does not read loses records, and a gap has their number; others lose none', async () => {
  const streams = openStreams()
  const [slow, other] = [streams.join(), streams.join()].map(({ response }) => response)
  if (!slow || !other) throw new Error('no clients')
  await waitFor(() => other.text.includes('retry: '), { what: 'the streams' })
  slow.writableLength = 300_000
  await append('one', 'two')
  await append('three')
  await waitFor(() => other.text.includes('three'), { what: 'the records' })
  expect(slow.text).not.toContain('one')
  slow.writableLength = 0
  await append('after')
  await waitFor(() => slow.text.includes('after'), { what: 'what came later' })
  expect(slow.text).toContain('event: gap\ndata: {"why":"slow","skipped":3}\n\nevent: record\n')
  expect(other.text).not.toContain('gap')
})

const ALL = '0-0.0~0-0.0'

test('clients that do not read what they missed keep no other from it', async () => {
  const streams = openStreams()
  await append('missed-by-three')
  const slow = Array.from({ length: 3 }, () => streams.join({ last: ALL, unread: 300_000 }).response)
  const other = streams.join({ last: ALL }).response
  await waitFor(() => other.text.includes('missed-by-three'), { what: 'the resume' })
  expect(slow.map(({ text }) => text)).toEqual(['', '', ''])
  const [first] = slow
  if (!first) throw new Error('no client')
  first.writableLength = 0
  first.emit('drain')
  await waitFor(() => first.text.includes('missed-by-three'), { what: 'the resume of one that reads again' })
})

test('what is missed is sent in portions that a client has read, each record once', async () => {
  const streams = openStreams()
  const names = Array.from({ length: 2_000 }, (_, i) => `many-${i}`)
  await append(...names.toReversed())
  const { response } = streams.join({ last: ALL })
  response.isCounting = true
  const sentOf = () => response.text.match(/(?<="name":")many-\d+/g) ?? []
  let longest = 0
  await waitFor(
    () => {
      longest = Math.max(longest, response.writableLength)
      if (response.writableLength > 0) {
        response.writableLength = 0
        response.emit('drain')
      }
      return sentOf().length >= names.length
    },
    { what: 'all records' },
  )
  expect(new Set(sentOf()).size).toBe(names.length)
  expect(sentOf()).toHaveLength(names.length)
  expect(longest).toBeLessThan(400_000)
})

test('a client that reads nothing of what it missed is cut off as others are', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { response } = openStreams().join({ last: ALL, unread: 300_000 })
  await waitFor(() => response.listenerCount('drain') > 0, { what: 'the resume' })
  vi.advanceTimersByTime(29_000)
  expect(response.destroyed).toBe(false)
  response.writableLength = 299_000
  vi.advanceTimersByTime(31_000)
  expect(response.destroyed).toBe(false)
  vi.advanceTimersByTime(31_000)
  expect(response.destroyed).toBe(true)
})

test('what is missed is not sent to a token that has lost its rights', async () => {
  for (let i = 0; i < 60; i++) await append(`before-${i}`)
  await append('the-last-one')
  const { response, served } = openStreams().join({ last: ALL, isStillAllowed: () => response.text === '' })
  await served
  expect(response.text).toContain('event: record')
  expect(response.text).not.toContain('the-last-one')
  expect(response.destroyed).toBe(true)
})

test('a position of which one part is no longer there is one gap, however many portions follow', async () => {
  for (let i = 0; i < 60; i++) await append(`part-${i}`)
  const { response, served } = openStreams().join({ last: '0-0.0~5-1.0' })
  await served
  expect(response.text).toContain('part-59')
  expect(response.text.split('event: gap')).toHaveLength(2)
})

test('what is missed takes at most 3 % of the time of the process', async () => {
  const streams = openStreams()
  const position = await newestPosition(redis, bed.keys)
  await append(...Array.from({ length: 1_000 }, (_, i) => `share-${i}`))
  const startMs = performance.now()
  const { response, served } = streams.join({ last: position.join('~') })
  const write = response.write.bind(response)
  let workedMs = 0
  const early: number[] = []
  response.write = (chunk) => {
    const nowMs = performance.now()
    // Those of one slice, 10 ms, come together.
    early.push((workedMs - 10) / 0.03 - (nowMs - startMs))
    write(chunk)
    while (performance.now() - nowMs < 4);
    workedMs += performance.now() - nowMs
  }
  await served
  expect(response.text.match(/"share-\d+"/g)).toHaveLength(1_000)
  expect(early.length).toBeGreaterThan(7)
  expect(Math.max(...early)).toBeLessThan(0)
})

test('what several clients have missed is read from Redis and unpacked once', async () => {
  const from = await newestPosition(redis, bed.keys)
  for (let i = 0; i < 80; i++) await append(...Array.from({ length: 25 }, (_, k) => `page-${i}-${k}`))
  const to = await newestPosition(redis, bed.keys)
  const reads = vi.spyOn(redis, 'xrangeBuffer')
  onTestFinished(() => reads.mockRestore())
  const pages = createHistoryPages(() => redis, bed.keys)
  const clients = Array.from({ length: 5 }, () => ({ at: from, got: [] as Placed[], isAll: false }))
  while (clients.some(({ isAll }) => !isAll))
    for (const client of clients) {
      const { placed, end, isMore }: { placed: Placed[]; end: Position; isMore: boolean } = await pages.read(
        client.at,
        to,
        new WorkClock(),
      )
      const some = placed.slice(0, 90)
      client.got.push(...some)
      client.at = some.length === placed.length ? end : positionAfter(client.at, some)
      client.isAll = some.length === placed.length && !isMore
    }
  for (const { got } of clients) expect(new Set(got.map(({ place }) => place)).size).toBe(2_000)
  expect(clients.map(({ got }) => got.length)).toEqual(clients.map(() => 2_000))
  const ofDeliveries = reads.mock.calls.filter(([key]) => key === bed.keys.history)
  expect(ofDeliveries.length).toBeLessThanOrEqual(3)
})

test('with hundreds of streams a client that has read all goes on, without a drain of its socket', async () => {
  const streams = openStreams()
  for (let i = 0; i < 300; i++) await joined(streams, `caller-${i % 3}`)
  await append('for-hundreds')
  const { response } = streams.join({ last: ALL, unread: 60_000 })
  const later = streams.join({ last: ALL, caller: 'later' }).response
  await waitFor(() => later.text.includes('for-hundreds'), { what: 'the resume of one that came later' })
  expect([response.text, response.writableNeedDrain]).toEqual(['', false])
  response.writableLength = 0
  await waitFor(() => response.text.includes('for-hundreds'), { what: 'what was missed' })
})

test('a client that waits for what it has missed gets a comment, and is not cut off', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const hanging = Object.create(redis, { xrangeBuffer: { value: () => new Promise(() => {}) } }) as Redis
  const { response } = openStreams(hanging).join({ last: ALL })
  await waitFor(() => vi.getTimerCount() > 0, { what: 'the comments' })
  vi.advanceTimersByTime(61_000)
  expect(response.text).toBe(': on\n\n'.repeat(4))
  expect(response.destroyed).toBe(false)
})

async function joined(streams: ReturnType<typeof openStreams>, caller: string, filter = ''): Promise<Unread> {
  const { response, served } = streams.join({ caller, filter })
  await served
  return response
}

test('with many clients less is kept of what one has not read', async () => {
  const streams = openStreams()
  const [slow, other] = [await joined(streams, 'a'), await joined(streams, 'a')]
  slow.writableLength = 100_000
  await append('few-clients')
  await waitFor(() => slow.text.includes('few-clients'), { what: 'the record' })
  for (let i = 0; i < 800; i++) await joined(streams, `caller-${i % 4}`)
  await append('many-clients')
  await waitFor(() => other.text.includes('many-clients'), { what: 'the record' })
  expect(slow.text).not.toContain('many-clients')
})

/** Bytes of records that are made until the end of the test. */
function bytesMade(): { total: number } {
  const made = { total: 0 }
  const from = Buffer.from
  const spy = vi.spyOn(Buffer, 'from').mockImplementation(((value: string, ...rest: []) => {
    const bytes = from(value, ...rest)
    if (typeof value === 'string' && value.startsWith('event: record')) made.total += bytes.length
    return bytes
  }) as typeof Buffer.from)
  onTestFinished(() => spy.mockRestore())
  return made
}

test('spellings of one filter share what is made, and each portion is written to all before the next is made', async () => {
  const streams = openStreams()
  const spelled = (i: number) => [...'configmap'].map((it, bit) => ((i >> bit) & 1 ? it.toUpperCase() : it))
  const clients: Unread[] = []
  for (let i = 0; i < 240; i++) clients.push(await joined(streams, 'a', `kind=${spelled(i).join('')}`))
  const last = clients.at(-1) as Unread
  const made = bytesMade()
  let [written, most] = [0, 0]
  const write = last.write.bind(last)
  last.write = (chunk) => {
    most = Math.max(most, made.total - written)
    write(chunk)
    written += chunk.length
  }
  await append(...Array.from({ length: 500 }, (_, i) => `of-all-${i}`))
  await waitFor(() => clients.every(({ text }) => text.split('of-all-').length > 1_000), {
    what: 'the records',
  })
  for (const { text } of clients) expect(text.match(/of-all-\d+"/g)).toHaveLength(500)
  expect(written).toBeGreaterThan(100_000)
  expect(made.total).toBeLessThan(1.1 * written)
  expect(most).toBeLessThan(40_000)
})

test('nothing is made for clients that do not read, and they get the number of what they wanted', async () => {
  const streams = openStreams()
  const parts = ['namespace=shop', 'rule=everything', 'sink=good', 'outcome=delivered']
  const filters = Array.from({ length: 16 }, (_, i) => parts.filter((_, bit) => (i >> bit) & 1).join('&'))
  const all = filters.flatMap((it) => ['cm', 'configmaps', 'pods'].map((kind) => `${it}&kind=${kind}`))
  const clients = await Promise.all(all.map((it) => joined(streams, 'a', it)))
  const other = await joined(streams, 'a')
  for (const client of clients) client.writableLength = 300_000
  const made = bytesMade()
  await append(...Array.from({ length: 300 }, (_, i) => `unread-${i}`))
  await waitFor(() => other.text.includes('unread-299'), { what: 'the records' })
  expect(made.total).toBeLessThan(1.1 * other.text.length)
  for (const client of clients) client.writableLength = 0
  await append('read-again')
  const wanted = clients.filter((_, i) => !all[i]?.includes('pods'))
  await waitFor(() => wanted.every(({ text }) => text.includes('read-again')), { what: 'the next record' })
  for (const { text } of wanted) expect(text).toContain('{"why":"slow","skipped":300}')
  expect(clients.filter(({ text }) => text.includes('event:'))).toHaveLength(wanted.length)
})

test('entries that another version has written are passed', async () => {
  const [streams, position] = [openStreams(), await newestPosition(redis, bed.keys)]
  const live = await joined(streams, 'a')
  for (let i = 0; i < 120; i++) await redis.xadd(bed.keys.history, '*', 'z', Buffer.from([99, 0, 0]))
  await append('behind-the-unknown')
  const back = streams.join({ last: position.join('~') }).response
  for (const client of [live, back])
    await waitFor(() => client.text.includes('behind-the-unknown'), { what: 'the record behind them' })
  expect(back.text).not.toContain('gap')
})

test('a client that joins while others are written to gets each record once', async () => {
  const streams = openStreams()
  const [first, second] = [await joined(streams, 'a'), await joined(streams, 'a')]
  let late: Promise<Unread> | undefined
  const write = first.write.bind(first)
  first.write = (chunk) => {
    write(chunk)
    if (late || !first.text.includes('event: record')) return
    late = joined(streams, 'a')
    // Longer than a slice: the others get it later.
    for (const startMs = performance.now(); performance.now() - startMs < 20; );
  }
  await append('now')
  await waitFor(() => second.text.includes('now'), { what: 'the record' })
  await append('next')
  await waitFor(() => second.text.includes('next'), { what: 'the next record' })
  for (const client of [first, second, await late])
    expect(client?.text.match(/"name":"(now|next)"/g)).toEqual(['"name":"now"', '"name":"next"'])
})

test('a record is encoded once, and for a client that may read a part of it by itself', () => {
  const digest = { ...record('web'), notice: { kind: 'digest' as const, count: 2, objects: ['a', 'b'] } }
  const [one] = outgoing(['0-0.0', '0-0.0'], [{ record: digest, stream: 0, place: '5-1.3' }])
  const part = { ...digest, notice: { ...digest.notice, objects: ['a'] } }
  const whole = one?.textFor(digest)
  expect(whole).toMatch(/^event: record\nid: 5-1\.3~0-0\.0\ndata: .*"objects":\["a","b"\].*\n\n$/)
  expect(one?.textFor(part)).toContain('"objects":["a"]')
  expect(one?.textFor(digest)).toBe(whole)
})

test('there is a bound for the streams of one caller, and for all', async () => {
  const sockets: Socket[] = []
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let i = 0; i < MOST_CLIENTS_OF_ONE; i++) sockets.push(await open(TOKENS.reader))
  const statusOf = async (socket: Socket) => String((await once(socket, 'data'))[0]).split(' ')[1]
  await Promise.all(sockets.map(async (it) => expect(await statusOf(it)).toBe('200')))
  const one = await open(TOKENS.reader)
  expect(await statusOf(one)).toBe('503')
  const other = await open(TOKENS.actor)
  expect(await statusOf(other)).toBe('200')
  expect((await bed.ask('/livez')).status).toBe(200)
  sockets.push(one, other)
})

test('a client that left before its stream is served takes no place of others', async () => {
  const streams = openStreams()
  const early = Array.from({ length: MOST_CLIENTS_OF_ONE }, () => streams.join({ hasLeft: true }).served)
  await Promise.all(early)
  const { response, served } = streams.join()
  await served
  expect(response.text).toContain('retry: ')
})

test('an object of a megabyte is shown cut, and everything goes on', async () => {
  bed.change('ADDED', 'shop', 'bad-large', { data: { text: 'x'.repeat(1_000_000) } })
  const find = async () =>
    (await bed.get('/api/v1/dead-letters', bearer(TOKENS.reader))).items.find(
      (it: any) => it.event.name === 'bad-large',
    )
  await waitFor(async () => (await find()) !== undefined, { what: 'the dead letter' })
  const { id, event } = await find()
  const letter = await bed.get(`/api/v1/dead-letters/${id}`, bearer(TOKENS.reader))
  expect([letter.isCut, letter.object.length]).toEqual([true, 200_000])
  const story = await bed.get(`/api/v1/events/${encodeURIComponent(event.id)}`, bearer(TOKENS.reader))
  expect(JSON.stringify(story).length).toBeLessThan(200_000)
})
