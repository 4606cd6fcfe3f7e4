import { expect, test } from 'vitest'
import * as z from 'zod'
import {
  cloudEventAttributes,
  defineSink,
  deliverInOrder,
  type Message,
  type Outcome,
  type Sink,
  type SinkType,
} from '../../src/sink/index.ts'
import {
  conformance,
  idsIn,
  memoryStore,
  messageOf,
  runConformance,
  type Setup,
  sampleMessages,
  testContext,
} from '../../src/sink/testkit/index.ts'

/** A peer within this process. */
class Peer {
  got: string[] = []
  mode: 'well' | 'refuse' | 'hang' = 'well'
  refusedId: string | undefined
  readonly #hanging = new Set<() => void>()

  async take(id: string, signal: AbortSignal): Promise<'ok' | 'no'> {
    await new Promise(setImmediate)
    signal.throwIfAborted()
    if (this.mode === 'refuse') return 'no'
    this.got.push(id)
    if (this.mode === 'hang') {
      await new Promise<void>((resolve) => {
        this.#hanging.add(resolve)
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
      signal.throwIfAborted()
    }
    return this.refusedId === id ? 'no' : 'ok'
  }

  restore(): void {
    this.mode = 'well'
    this.refusedId = undefined
    for (const cut of this.#hanging) cut()
    this.#hanging.clear()
  }
}

const TOKEN = 'a-t0ken-of-this-test'
let peer: Peer

/** A sink that keeps the contract; what a test changes breaks it. */
function memorySink(change: Changes = {}): SinkType {
  const closing = new AbortController()
  const post = async (message: Message, signal: AbortSignal): Promise<Outcome> => {
    if (change.reads) void message.content
    try {
      const answer = await (change.take ?? peer.take.bind(peer))(message.id, signal)
      if (answer === 'ok') return { kind: 'delivered' }
      const scope = peer.mode === 'refuse' ? 'sink' : 'event'
      return { kind: 'retry', reason: 'server-error', detail: change.detail ?? 'it said no', scope }
    } catch {
      const ambiguous = { ambiguous: true } as const
      const stopped = { kind: 'retry', reason: 'unknown', detail: 'stopped', scope: 'sink' } as const
      return change.silent ? stopped : { ...stopped, ...ambiguous }
    }
  }
  const sink: Sink = {
    deliver: (batch, signal) => {
      const stop = change.deaf ? new AbortController().signal : AbortSignal.any([signal, closing.signal])
      return deliverInOrder(batch, { concurrency: 8 }, post, stop)
    },
    health: async () =>
      peer.mode === 'refuse' ? { ok: false, reason: 'network', detail: 'it is away' } : { ok: true },
    async close() {
      closing.abort()
    },
    ...change.sink,
  }
  const type: SinkType = {
    apiVersion: 1,
    type: 'memory',
    config: z.strictObject({ token: z.string() }) as SinkType['config'],
    route: z.strictObject({ room: z.string().default('all') }) as SinkType['route'] & {},
    lane: () => '0',
    escape: (text) => text.replaceAll('<', '&lt;'),
    open: () => ({ ...sink, ...change.opened?.(sink) }),
    ...change.type,
  }
  return change.fresh === false ? type : { ...type, open: (...args) => memoryOpen(change, args) }
}

/** Each opening has a state of its own. */
function memoryOpen(change: Changes, args: Parameters<SinkType['open']>) {
  if (change.type?.open) return change.type.open(...args)
  return memorySink({ ...change, fresh: false }).open(...args)
}

interface Changes {
  type?: Partial<SinkType>
  sink?: Partial<Sink>
  opened?: (sink: Sink) => Partial<Sink>
  take?: (id: string, signal: AbortSignal) => Promise<'ok' | 'no'>
  detail?: string
  /** Does not tell what is ambiguous. */
  silent?: boolean
  /** Does not listen to its signal. */
  deaf?: boolean
  /** Looks at the content. */
  reads?: boolean
  fresh?: false
}

const setup: Setup = {
  patienceMs: 1_000,
  start() {
    peer = new Peer()
    const mine = peer
    return {
      options: { token: TOKEN },
      received: () => mine.got,
      faults: {
        refuse() {
          mine.mode = 'refuse'
        },
        hang() {
          mine.mode = 'hang'
        },
        refuseOne(id) {
          mine.refusedId = id
        },
        restore: () => mine.restore(),
      },
      forget() {
        mine.got = []
      },
      stop() {},
    }
  },
}

async function runCheck(name: string, type: SinkType, more: Partial<Setup> = {}) {
  const check = conformance(type, { ...setup, ...more }).find((it) => it.name === name)
  if (!check) throw new Error(`there is no check "${name}"`)
  return check.run()
}

test('a sink that keeps the contract passes, and nothing is skipped', async () => {
  const report = await runConformance(memorySink({ reads: true }), setup)
  expect(report.skipped).toEqual([])
  expect(report.passed).toEqual(conformance(memorySink(), setup).map(({ name }) => name))
})

const kept: unknown[] = []
const all = (outcome: object) => ({
  deliver: async (batch: readonly Message[]) => batch.map(() => outcome as Outcome),
})
const loose = (schema: z.ZodType) => ({ config: schema as unknown as SinkType['config'] })

const BROKEN: [check: string, broken: Changes, fault: RegExp][] = [
  ['the type is of this contract', { type: { apiVersion: 2 as 1 } }, /apiVersion is 2/],
  ['the type is of this contract', { type: { type: 'a b' } }, /is not a name/],
  ['config is a Standard Schema that refuses rubbish', { type: loose(z.any()) }, /config accepts 42/],
  [
    'config is a Standard Schema that refuses rubbish',
    { type: loose(z.strictObject({ token: z.any() }).refine((it) => typeof it.token === 'string', 'no')) },
    /whose path does not lead to it/,
  ],
  [
    'config refuses keys that it does not know',
    { type: loose(z.object({ token: z.string() })) },
    /misspelt option would do nothing/,
  ],
  [
    'route is a Standard Schema that accepts {} and refuses rubbish',
    { type: { route: z.strictObject({ room: z.string() }) as unknown as SinkType['config'] } },
    /route refuses (the route|\{\})/,
  ],
  ['the lane of an object stays the same', { type: { lane: () => String(Math.random()) } }, /got the lanes/],
  [
    'the lane of an object stays the same',
    { type: { lane: ({ event }) => event.type } },
    /"ADDED","MODIFIED"/,
  ],
  ['delivers a batch, in the order of each object', { sink: all({ kind: 'delivered' }) }, /did not arrive/],
  ['delivers a batch, in the order of each object', { sink: { deliver: async () => [] } }, /0 outcomes for/],
  [
    'delivers a batch, in the order of each object',
    {
      sink: {
        async deliver(batch, signal) {
          for (const { id } of batch.toReversed()) await peer.take(id, signal)
          return batch.map(() => ({ kind: 'delivered' }))
        },
      },
    },
    /arrived before .* of the same object/,
  ],
  ['delivers a single message', { sink: all({ kind: 'sent' }) }, /the kind "sent" is none/],
  [
    'delivers a single message',
    { sink: all({ kind: 'retry', reason: 'x', detail: 'x', scope: 'sink' }) },
    /the reason "x"/,
  ],
  [
    'delivers a single message',
    { sink: all({ kind: 'rejected', reason: 'config', detail: '' }) },
    /detail is ""/,
  ],
  [
    'delivers a single message',
    { sink: all({ kind: 'rejected', reason: 'config', detail: 'é'.repeat(1_025) }) },
    /more than 2048 bytes/,
  ],
  ['delivers a single message', { sink: all({ kind: 'later', afterMs: -1 }) }, /afterMs is -1/],
  [
    'delivers a single message',
    { sink: { deliver: () => Promise.reject(new Error('bang')) } },
    /threw.*bang/,
  ],
  [
    'hostile events harm nothing',
    {
      async take(id, signal) {
        if (id.includes('hostile')) throw new Error('I fell over')
        return peer.take(id, signal)
      },
    },
    /markup of chats.* did not get through/s,
  ],
  [
    'a template that fails is the fault of its message alone',
    {
      sink: {
        async deliver(batch) {
          for (const it of batch) {
            try {
              void it.content
            } catch {
              return batch.map(() => ({ kind: 'rejected', reason: 'render', detail: 'all of them' }))
            }
          }
          return batch.map(() => ({ kind: 'delivered' }))
        },
      },
    },
    /another message of the batch was not delivered/,
  ],
  [
    'opens while its peer is away; the first delivery is a retry',
    {
      type: {
        open() {
          throw new Error('ECONNREFUSED')
        },
      },
    },
    /ECONNREFUSED/,
  ],
  [
    'opens while its peer is away; the first delivery is a retry',
    { sink: all({ kind: 'rejected', reason: 'network', detail: 'away' }) },
    /not a retry/,
  ],
  [
    'a failure of one message holds its object, not the others',
    {
      sink: {
        deliver: (batch, signal) =>
          Promise.all(
            batch.map(
              async ({ id }): Promise<Outcome> =>
                (await peer.take(id, signal)) === 'ok'
                  ? { kind: 'delivered' }
                  : { kind: 'retry', reason: 'network', detail: 'no', scope: 'event' },
            ),
          ),
      },
    },
    /is delivered, though outcome 0 of the same object is not/,
  ],
  ['what it tells of failures holds no secret', { detail: `no access with ${TOKEN}` }, /contains a secret/],
  [
    'what it tells of failures holds no secret',
    {
      type: {
        open: (_, { log }) => {
          log.warn({ deep: { error: new Error(`token ${TOKEN}`) } }, 'failed')
          return {
            deliver: async (batch) => batch.map(() => ({ kind: 'later', afterMs: 1 })),
            async close() {},
          }
        },
      },
    },
    /a log line or metric contains a secret/,
  ],
  [
    'sends nothing when the signal is aborted already',
    { deaf: true },
    /not a retry|was sent though the signal/,
  ],
  [
    'ends within a second of an abort while its peer hangs, and goes on behind it',
    { deaf: true },
    /did not end within 1000 ms/,
  ],
  [
    'ends within a second of an abort while its peer hangs, and goes on behind it',
    { silent: true },
    /arrived, but its outcome is .* without "ambiguous"/,
  ],
  ['closes twice', { sink: { close: () => new Promise(() => {}) } }, /close did not end within/],
  ['delivers nothing after it was closed', { sink: { async close() {} } }, /after close, an outcome is/],
  [
    'health says that the peer is away',
    { sink: { health: async () => ({ ok: true }) } },
    /reports that all is well/,
  ],
  [
    'health says that all is well, and delivers nothing',
    { sink: { health: async () => ({}) as never } },
    /without ok/,
  ],
  [
    'health ends with its signal',
    { sink: { health: () => new Promise(() => {}) } },
    /did not end within 1000/,
  ],
  [
    'two thousand deliveries leave nothing in memory',
    {
      async take(id) {
        kept.push(`${id} ${'x'.repeat(100)}`.split(''))
        return 'ok'
      },
    },
    /memory grew in every round/,
  ],
  [
    'tries a message once in a call',
    {
      async take(id, signal) {
        await peer.take(id, signal)
        return peer.take(id, signal)
      },
    },
    /kit\/uidonce0\/1\/MODIFIED was sent 2 times in one call/,
  ],
  [
    'tries a message once in a call',
    {
      async take(id, signal) {
        const answer = await peer.take(id, signal)
        return answer === 'ok' ? answer : peer.take(id, signal)
      },
    },
    /kit\/uidfailing0\/1\/MODIFIED was sent 2 times in one call/,
  ],
  [
    'what it tells of failures holds no secret',
    { detail: `not with ${Buffer.from(`me:${TOKEN}`).toString('base64')}` },
    /an outcome contains a secret of the options: a-t…/,
  ],
  [
    'what it tells of failures holds no secret',
    { detail: `not with ${TOKEN.slice(0, -4)}` },
    /an outcome contains a secret of the options: a-t…/,
  ],
  [
    'delivers a single message',
    { sink: all({ kind: 'later', afterMs: 60_000 }) },
    /"afterMs":60000\} \(it paces itself: .*patienceMs\)/,
  ],
  [
    'closes without having delivered anything',
    {
      opened: () => {
        void Promise.reject(new Error('nobody looks'))
        return {}
      },
    },
    /left unhandled: nobody looks/,
  ],
  [
    'closes without having delivered anything',
    { sink: { close: (() => {}) as unknown as () => Promise<void> } },
    /close gave no promise/,
  ],
]

test.each(BROKEN)('"%s" finds %o', async (name, broken, fault) => {
  const run = runCheck(name, memorySink(broken))
  await expect(run).rejects.toThrow(fault)
  kept.length = 0
})

test('a report tells what failed and why, and what was skipped', async () => {
  const run = runConformance(memorySink({ type: { type: 'a b' } }), {
    ...setup,
    excused: { 'two thousand deliveries leave nothing in memory': 'it takes long' },
  })
  await expect(run).rejects.toThrow(
    /1 skipped, 1 failed\n {2}failed: the type is of this contract\n +type "a b"/,
  )
  await expect(run).rejects.toThrow(/skipped: two thousand .* \(it takes long\)/)
})

test('a check that needs a fault that the target does not have is skipped, with the reason', async () => {
  const start: Setup['start'] = async () => ({ ...(await setup.start()), faults: { restore() {} } })
  const name = 'opens while its peer is away; the first delivery is a retry'
  expect(await runCheck(name, memorySink(), { start })).toEqual({
    kind: 'skipped',
    why: 'the target has no fault "refuse"',
  })
})

test('messages for tests tell their ids in what people read, and keep the sink’s markup', () => {
  const type = defineSink({ ...memorySink(), escape: (text: string) => text.replaceAll('<', '&lt;') })
  const message = messageOf({ name: 'a<b', version: '3', kubeEvent: { reason: 'Boom' } }, type)
  expect(idsIn(message.content.text)).toEqual([message.id])
  expect(message.content).toMatchObject({ title: 'Event default/a&lt;b changed', quote: '' })
  expect(JSON.parse(message.cloudEvent.toString())).toMatchObject({
    id: message.id,
    data: { event: { reason: 'Boom' } },
  })
  expect(sampleMessages(4, { objects: 2 }).map(({ id }) => id)).toEqual(
    ['0/1', '1/1', '0/2', '1/2'].map((it) => `kit/uidobject${it}/MODIFIED`),
  )
})

test('the CloudEvent of a message for tests is made as the core makes it', () => {
  const changes = [{ path: 'spec.replicas', old: 1, new: 2 }]
  const message = messageOf({ event: { cluster: 'eu/1', synthesized: true, changes } })
  expect(JSON.parse(message.cloudEvent.toString())).toMatchObject({
    ...cloudEventAttributes(message),
    synthesized: true,
    data: { rule: 'all', changes, object: message.object },
  })
})

test('the store of tests keeps locks and ends of life as the real one does', async () => {
  let nowMs = 0
  const store = memoryStore({ now: () => nowMs })
  expect(await store.add('lock', 'me', { ttlMs: 10 })).toBe(true)
  expect(await store.add('lock', 'you', { ttlMs: 10 })).toBe(false)
  expect(await store.delete('lock', 'you')).toBe(false)
  nowMs = 10
  expect(await store.get('lock')).toBeUndefined()
  expect(await store.add('lock', 'you', { ttlMs: 10 })).toBe(true)
  expect(await store.delete('lock', 'you')).toBe(true)
})

test('the context of tests keeps what is told', () => {
  const context = testContext({ name: 'oncall' })
  context.log.warn({ n: 1 }, 'slow')
  context.metrics.counter('posts_total', 'Posts')(2)
  context.metrics.gauge('depth', 'Depth')(7)
  expect(context.logged).toEqual([{ level: 'warn', fields: { n: 1 }, message: 'slow' }])
  expect(Object.fromEntries(context.measured)).toEqual({ posts_total: 2, depth: 7 })
})
