import { expect, test } from 'vitest'
import { deliverInOrder, outcomeOfStatus } from '../../src/sink/index.ts'
import { messageOf } from '../../src/sink/testkit/index.ts'

const NEVER = new AbortController().signal

test('what a server says at length is kept up to 2 KiB, in whole characters', () => {
  const { detail } = outcomeOfStatus(503, undefined, 'é'.repeat(2_000), 0) as { detail: string }
  expect(detail).toBe(`HTTP 503: ${'é'.repeat(1_019)}`)
})

test.each([
  ['Error', 'retry'],
  ['TemplateFault', 'rejected'],
])('of a long %s that is thrown, 2 KiB are told', async (name, kind) => {
  const fail = () => Promise.reject(Object.assign(new Error('€'.repeat(5_000)), { name }))
  const [outcome] = await deliverInOrder([messageOf()], { concurrency: 1 }, fail, NEVER)
  expect(outcome).toMatchObject({ kind, detail: '€'.repeat(682) })
})
