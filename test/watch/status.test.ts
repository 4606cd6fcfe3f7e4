import { expect, test } from 'vitest'
import { faultOf, statusOf } from '../../src/watch/client/api-fault.ts'
import { failure } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'

/** Numbers and texts that an API server, or whatever answers in its place, may put into a Status. */

test.each([
  ['seconds', 7, 7_000],
  ['a fraction', 0.5, 500],
  ['more than five minutes', 999_999, 300_000],
  ['more than a timer can hold', 1e300, 300_000],
  ['zero', 0, undefined],
  ['a negative number', -5, undefined],
  ['a text', '7', undefined],
  ['a list', [7], undefined],
  ['an object', { seconds: 7 }, undefined],
  ['null', null, undefined],
  ['true', true, undefined],
])('retryAfterSeconds: %s', (_name, retryAfterSeconds, expected) => {
  const status = failure(503, 'ServiceUnavailable', { retryAfterSeconds })
  expect(statusOf(status).retryAfterMs).toBe(expected)
  const answer = { status: 503, headers: {}, body: Buffer.from(JSON.stringify(status)) }
  expect(faultOf(answer).status.retryAfterMs).toBe(expected)
})

test('retryAfterSeconds beyond the largest number is bounded, too', () => {
  const body = Buffer.from('{"code":429,"details":{"retryAfterSeconds":1e999}}')
  const { retryAfterMs } = faultOf({ status: 429, headers: {}, body }).status
  expect(retryAfterMs === undefined || retryAfterMs <= 300_000).toBe(true)
})

test.each([
  ['null', null],
  ['a text', 'busy'],
  ['a list', [1, 2]],
  ['details that are a text', { code: 500, details: 'x' }],
  ['causes that are an object', { code: 500, details: { causes: { reason: 'x' } } }],
  ['causes that are texts and null', { code: 500, details: { causes: ['x', null, { reason: 7 }] } }],
  ['a code, reason and message that are objects', { code: {}, reason: [], message: { a: 1 } }],
])('a Status that is %s is read as far as it can be', (_name, status) => {
  expect(statusOf(status, 500)).toEqual({ code: 500, reason: '', message: '', causes: [] })
})

test('a watch that nobody can split yet shows no password of what answers instead of the API server', async () => {
  const message = 'http://me:hunter2@proxy.example does not answer'
  await using it = await startWatchBed({
    entries: [{ kind: 'ConfigMap', shards: 2 }],
    prepare(api) {
      api.intercept = ({ query }, response) => {
        if (!query.has('shardSelector')) return false
        response.writeHead(503, { 'content-type': 'application/json' })
        response.end(JSON.stringify(failure(503, 'ServiceUnavailable', {}, message)))
        return true
      }
    },
  })
  const shown = () => it.statuses().flatMap(({ lastError = [] }) => lastError)
  await waitFor(() => shown().some((text) => text.includes('proxy.example')), { what: 'the status' })
  expect(shown().join()).not.toContain('hunter2')
})
