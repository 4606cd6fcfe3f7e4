import { expect, test } from 'vitest'
import { z } from 'zod'
import { routeOf } from '../../src/config/routes.ts'
import { defineSink, type SinkType } from '../../src/sink/index.ts'
import { loadText, messagesOf } from './load-text.ts'

const chat = defineSink({
  apiVersion: 1,
  type: 'chat',
  config: z.strictObject({}),
  route: z.strictObject({
    channel: z.string().startsWith('#', 'must begin with "#"').default('#all'),
    mode: z.enum(['thread', 'message']).optional(),
  }),
  open: () => {
    throw new Error('not opened here')
  },
}) as SinkType

const sinkTypes = {
  chat: async () => chat,
  plain: async () => ({ ...chat, type: 'plain', route: undefined }) as unknown as SinkType,
}

const withTo = (to: string) =>
  `watch: [Pod]\nsinks: { a: { type: chat }, b: { type: plain } }\nrules:\n  - { name: r, to: ${to} }`

async function routesOf(to: string): Promise<unknown> {
  const loaded = await loadText(withTo(to), { sinkTypes })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  expect(loaded.config.rules[0]?.to).toEqual([...loaded.config.routes.get('r')!.keys()])
  return Object.fromEntries(loaded.config.routes.get('r') ?? [])
}

test('a rule names its sinks in several forms, with or without options for each', async () => {
  expect(await routesOf('a')).toEqual({ a: { channel: '#all' } })
  expect(await routesOf('[a, b]')).toEqual({ a: { channel: '#all' }, b: {} })
  expect(await routesOf('[{ a: { channel: "#shop" } }, b]')).toEqual({ a: { channel: '#shop' }, b: {} })
  expect(await routesOf('{ a: { mode: thread }, b: }')).toEqual({
    a: { channel: '#all', mode: 'thread' },
    b: {},
  })
})

test('what only the section and the rule together get wrong is told at the rule', async () => {
  const strict: SinkType = {
    ...chat,
    config: z.strictObject({ only: z.string().optional() }),
    checkRoute(route, config) {
      const { channel } = route as { channel: string }
      const { only } = config as { only?: string }
      return only === undefined || channel === only ? [] : [{ message: `must be ${only}`, path: ['channel'] }]
    },
  }
  const text = withTo('[{ a: { channel: "#shop" } }, b]').replace('type: chat', 'type: chat, only: "#pay"')
  expect(await messagesOf(text, { sinkTypes: { ...sinkTypes, chat: async () => strict } })).toEqual([
    '4:37 "channel" must be #pay',
  ])
})

test('what still waits for a rule that is gone gets the defaults of its sink', async () => {
  const loaded = await loadText(withTo('[{ a: { channel: "#shop" } }, b]'), { sinkTypes })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const { routes } = loaded.config
  expect(['r', 'gone'].map((rule) => routeOf(routes, rule, 'a'))).toEqual([
    { channel: '#shop' },
    { channel: '#all' },
  ])
})

test.each([
  ['[{ a: { channel: shop } }]', ['4:37 "channel" must begin with "#"']],
  ['[{ a: { chanel: "#shop" } }]', ['4:28 unknown key "chanel"']],
  ['{ a: { mode: threat } }', ['4:33 "mode" must be thread or message']],
  ['[{ b: { channel: "#shop" } }]', ['4:28 unknown key "channel"']],
  ['[{ c: {} }]', ['4:23 there is no sink "c"']],
  ['[a, { a: {} }]', ['4:26 "a" is named twice']],
  ['[{ a: thread }]', ['4:26 "a" must be a map of keys and values, not text']],
])('to: %s', async (to, expected) => {
  const found = await messagesOf(withTo(to), { sinkTypes })
  expect(found.filter((it) => !it.includes('no rule sends'))).toEqual(expected)
})

test.each([
  ['{ brokers: ["k:9092"] }', 'bus', ['4:20 "bus" needs a topic']],
  [
    '{ brokers: ["k:9092"], topic: t, format: structured }',
    '{ bus: { state: true } }',
    ['4:36 "state" cannot'],
  ],
  ['{ brokers: ["k:9092"], topic: t }', '{ bus: { state: true } }', []],
])('a Kafka sink %s with to: %s', async (section, to, expected) => {
  const text = `watch: [Pod]\nsinks: { bus: { type: kafka, ${section.slice(1, -1)} } }\nrules:\n  - { name: r, to: ${to} }`
  const found = await messagesOf(text)
  expect(found.map((it, i) => it.slice(0, expected[i]?.length))).toEqual(expected)
})

test.each([
  ['resolve: true', ['resolve']],
  ['resolve: { after: 30m }', []],
])('a topic of states from a rule with %s', async (keys, expected) => {
  const sinks = 'bus: { type: kafka, brokers: ["k:9092"], topic: t, state: true }'
  const text = `watch: [Pod]\nsinks: { ${sinks} }\nrules:\n  - { name: r, when: { kind: Pod }, ${keys}, to: bus }`
  const found = await messagesOf(text)
  expect(found.flatMap((it) => /"(\w+)" keeps/.exec(it)?.[1] ?? [])).toEqual(expected)
})
