import { expect, test } from 'vitest'
import { plainKubeEvent } from '../../src/model/event.ts'
import { readKubeEvent, scanKubeEvent } from '../../src/watch/decode/kube-event.ts'
import { scanObject } from '../../src/watch/decode/scan.ts'
import { seeded } from '../seeded-random.ts'

const random = seeded(11)
const pick = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T
const TEXTS = ['', 'BackOff', 'a "b"', 'ü✓🙂', 'x\\', 'line\nbreak', '\u0000', null]
const TIMES = [null, '2026-11-21T06:00:00Z', '2026-11-21T06:00:01.123456Z']

function randomEvent(): Record<string, unknown> {
  const ref = {
    apiVersion: pick(['v1', '']),
    kind: 'Pod',
    namespace: pick(TEXTS),
    name: 'web',
    uid: 'u',
    fieldPath: pick(TEXTS),
  }
  const fields: Record<string, unknown> = {
    kind: 'Event',
    metadata: {
      name: 'web.1',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: TIMES[1],
      managedFields: [{ 'f:reason': {} }],
    },
    involvedObject: pick([ref, null]),
    regarding: pick([ref, { kind: 'Node' }]),
    reason: pick(TEXTS),
    message: pick(TEXTS),
    note: pick(TEXTS),
    type: pick(['Normal', 'Warning', null]),
    count: pick([0, 1, 7, null]),
    deprecatedCount: pick([0, 12]),
    series: pick([null, {}, { count: 9 }, { count: 3, lastObservedTime: TIMES[2] }]),
    eventTime: pick(TIMES),
    firstTimestamp: pick(TIMES),
    lastTimestamp: pick(TIMES),
    deprecatedFirstTimestamp: pick(TIMES),
    deprecatedLastTimestamp: pick(TIMES),
    source: pick([null, {}, { component: 'kubelet', host: 'n' }]),
    deprecatedSource: pick([{}, { component: 'old' }]),
    reportingComponent: pick(TEXTS),
    reportingController: pick(TEXTS),
    related: { reason: 'no', type: 'no' },
  }
  const keys = Object.keys(fields).filter((key) => key === 'metadata' || random() < 0.7)
  const shuffled = keys.map((key) => ({ key, at: random() })).sort((a, b) => a.at - b.at)
  return Object.fromEntries(shuffled.map(({ key }) => [key, fields[key]]))
}

test('an Event that is read from its bytes is the one that is parsed, for 3,000 random ones', () => {
  for (let i = 0; i < 3_000; i++) {
    const object = randomEvent()
    const bytes = Buffer.from(random() < 0.1 ? JSON.stringify(object, null, 1) : JSON.stringify(object))
    const scanned = scanObject(bytes)
    const event = scanned && scanKubeEvent(scanned)
    expect(event, bytes.toString()).toBeDefined()
    if (event) expect(plainKubeEvent(event)).toEqual(readKubeEvent(object))
  }
})

test('an Event with an escaped key, or cut off, is left to the parser', () => {
  const metadata = { name: 'web.1', uid: 'u', resourceVersion: '1' }
  const text = JSON.stringify({ metadata, reason: 'BackOff', type: 'Warning' })
  const scan = (it: string) => {
    const scanned = scanObject(Buffer.from(it))
    return scanned && scanKubeEvent(scanned)
  }
  expect(scan(text)?.reason).toBe('BackOff')
  expect(scan(text.replace('"reason"', '"re\\u0061son"'))).toBeUndefined()
  for (let end = text.indexOf('"reason"'); end < text.length; end++)
    expect(scan(text.slice(0, end)), text.slice(0, end)).toBeUndefined()
})
