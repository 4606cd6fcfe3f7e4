import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccess } from '../../src/observe/server/access.ts'

const { timingSafeEqual } = crypto
/** What was compared in constant time, in bytes. */
const compared: [number, number][] = []

function replaceComparison(by: typeof timingSafeEqual): void {
  crypto.timingSafeEqual = by
  syncBuiltinESMExports()
}

beforeAll(() =>
  replaceComparison((one, other) => {
    compared.push([one.byteLength, other.byteLength])
    return timingSafeEqual(one, other)
  }),
)
afterAll(() => replaceComparison(timingSafeEqual))

const TOKENS = ['first', 'second', 'third'].map((name) => ({
  ...{ name, role: 'read' as const, token: `${name}-token-0123456789` },
}))

describe('the time of an answer shows nothing of the tokens: all are compared, as digests, for each request', () => {
  test.each([
    ['the first token', TOKENS[0]?.token, 'token:first'],
    ['the last token', TOKENS[2]?.token, 'token:third'],
    ['none of them', 'none-of-them-0123456789', 401],
    ['the beginning of one', 'third-token', 401],
    ['a very long one', 'x'.repeat(8_000), 401],
    ['one character', 'x', 401],
  ])('%s', (_, token, expected) => {
    const access = createAccess({ tokens: TOKENS })
    compared.length = 0
    const answer = access.api({
      ...{ method: 'GET', url: '/api/v1/overview', httpVersion: '1.1', peer: '10.1.2.3' },
      headers: { authorization: `Bearer ${token}` },
    })
    expect('status' in answer ? answer.status : answer.name).toBe(expected)
    expect(compared).toEqual(TOKENS.map(() => [32, 32]))
  })
})
