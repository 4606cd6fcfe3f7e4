import { afterEach, expect, test, vi } from 'vitest'
import type { ClusterEvent, Resource } from '../../src/model/event.ts'
import { compileRules } from '../../src/rules/compile.ts'
import { explainRule } from '../../src/rules/explain.ts'
import type { Rule } from '../../src/rules/schema.ts'
import type { When } from '../../src/rules/when.ts'
import { normalise } from '../../src/watch/decode/normalise.ts'
import { readFrame } from '../../src/watch/decode/scan.ts'
import { EVENT, POD } from './events.ts'

afterEach(() => vi.restoreAllMocks())

function eventOf(text: string, resource: Resource): ClusterEvent {
  const frame = readFrame(Buffer.from(`{"type":"ADDED","object":${text}}`))
  if (frame.kind !== 'change') throw new Error(frame.kind)
  const { object, type } = frame
  const { uid, resourceVersion, namespace, name, labelsJson } = object
  const observedAtMs = Date.parse('2026-11-21T06:00:00Z')
  const source = { clusterUid: 'c', resource } as Parameters<typeof normalise>[0]
  const transition = {
    type,
    uid,
    resourceVersion,
    namespace,
    name,
    labelsJson,
    observedAtMs,
    synthesized: false,
    object,
  }
  return normalise(source, transition, { cluster: 'test', salt: Buffer.alloc(32) })
}

const HUGE = 'ab'.repeat(524_288)
const DEEP = `${'{"reason":'.repeat(5_000)}${'['.repeat(5_000)}${']'.repeat(5_000)}${'}'.repeat(5_000)}`

const hugeEvent =
  `{"kind":"Event","apiVersion":"v1","extra":${DEEP},"metadata":{"name":"web.1","namespace":"shop","uid":"u",
"resourceVersion":"7","creationTimestamp":"2026-11-21T05:59:00Z","annotations":{"large":"${HUGE}","page":"true","nul":"\\u0000"},
"labels":{"constructor":"a","__proto__":"b"},"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"n","uid":"o","controller":true}]},
"involvedObject":{"kind":"Pod","namespace":"shop","name":"web-1","fieldPath":"${HUGE.slice(0, 1_000)}"},"message":"${HUGE}",
"reason":"BackOff","type":"Warning","related":${DEEP}}`.replaceAll('\n', '')

const wanted: When = {
  kind: 'Event',
  type: 'Warning',
  reason: 'BackOff',
  regarding: { kind: 'Pod', name: 'web-*' },
  labels: { constructor: 'a', toString: '!*' } as unknown as Record<string, string>,
  annotations: { page: 'true', nul: '\u0000', hasOwnProperty: '!*' } as unknown as Record<string, string>,
  age: '<5m',
}

test('of an Event with 1 MB texts and a depth of 10,000, rules read what they ask for, and no more', () => {
  const event = eventOf(hugeEvent, EVENT)
  const match = compileRules([{ name: 'r', when: wanted, to: ['a'] }], {
    onError: (_, error) => {
      throw error
    },
  })
  const decoded: number[] = []
  const decode = Buffer.prototype.toString
  vi.spyOn(Buffer.prototype, 'toString').mockImplementation(function (this: Buffer, ...args) {
    const text = decode.apply(this, args)
    decoded.push(text.length)
    return text
  })
  const parse = vi.spyOn(JSON, 'parse')
  expect(match(event).sends).toEqual([{ sink: 'a', rule: 'r' }])
  expect(decoded.reduce((sum, length) => sum + length, 0)).toBeLessThan(3_000)
  expect(Math.max(...parse.mock.calls.map(([text]) => text.length))).toBeLessThan(200)
})

test('a text that an expression would take too long for is an error of its rule alone', () => {
  const failed: string[] = []
  const rules: Rule[] = [
    { name: 'message', when: { message: '/a(b|a)*c/' }, to: ['a'] },
    { name: 'annotation', when: { annotations: { large: '*a?b*c' } }, to: ['a'] },
    { name: 'careful', when: { message: '/a(b|a)*c/' }, to: ['b'], onError: 'deliver' },
    { name: 'simple', when: { message: 'ab*ab', annotations: { large: '!x*' } }, to: ['c'] },
  ]
  const event = eventOf(hugeEvent, EVENT)
  const match = compileRules(rules, {
    onError: (rule, error) => failed.push(`${rule}: ${(error as Error).message}`),
  })
  expect(match(event).sends.map(({ rule }) => rule)).toEqual(['careful', 'simple'])
  expect(failed).toEqual([
    expect.stringMatching(/^message: a value of 1,048,576 characters is too long/),
    expect.stringMatching(/^annotation: a value of 1,048,576 characters is too long/),
    expect.stringMatching(/^careful: /),
  ])
  const reports = rules.map((rule) => explainRule(rule)(event))
  const hasError = ({ conditions }: (typeof reports)[number]) =>
    conditions.some(({ error }) => error !== undefined)
  expect(reports.map(hasError)).toEqual([true, true, true, false])
  expect(JSON.stringify(reports).length).toBeLessThan(4_000)
})

test('the whole object, its depth included, is there for who asks', () => {
  const event = eventOf(hugeEvent, EVENT)
  expect(event.object['reason']).toBe('BackOff')
  expect(event.owners).toEqual([{ apiVersion: 'batch/v1', kind: 'Job', name: 'n', uid: 'o' }])
})

test('keys of prototypes are labels like others', () => {
  const metadata =
    '{"name":"web","namespace":"shop","uid":"u","resourceVersion":"7","labels":{"__proto__":"x","valueOf":"y"}}'
  const event = eventOf(`{"kind":"Pod","metadata":${metadata}}`, POD)
  const matches = (labels: When['labels']) =>
    compileRules([{ name: 'r', when: { labels }, to: ['a'] }], { onError: () => {} })(event).sends.length ===
    1
  expect(matches('valueOf=y')).toBe(true)
  expect(matches('valueOf in (y, z), !constructor')).toBe(true)
  expect(matches('constructor')).toBe(false)
  expect(matches({ toString: '*' } as unknown as Record<string, string>)).toBe(false)
})
