import { expect, test } from 'vitest'
import { plainKubeEvent } from '../../src/model/event.ts'
import { readKubeEvent } from '../../src/watch/decode/kube-event.ts'

test.each([
  ['numbers', 7],
  ['lists', ['x']],
  ['maps', { a: 1 }],
  ['null', null],
])('of an Event of %s where texts belong, all that is read is text', (_, odd) => {
  const fields = ['type', 'reason', 'message', 'note', 'firstTimestamp', 'lastTimestamp', 'eventTime']
  const references = { kind: odd, namespace: odd, name: odd, uid: odd }
  const event = readKubeEvent({
    ...Object.fromEntries(fields.map((field) => [field, odd])),
    series: { count: 'often', lastObservedTime: odd },
    count: 3,
    involvedObject: references,
    reportingController: odd,
    source: { component: odd },
  })
  expect(plainKubeEvent(event)).toEqual({ type: '', reason: '', message: '', count: 3, regarding: {} })
})
