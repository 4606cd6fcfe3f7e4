import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { hashSecret } from '../../src/watch/decode/trim.ts'

const TEXTS = ['', 'djE=', 'ü€😀\ud800', 'x'.repeat(999), 'x'.repeat(1_001), 'ü'.repeat(5_000), 'short again']

test.each([0, 16, 32, 64, 65, 200])('values are HMACs under a salt of %i bytes', (bytes) => {
  const salt = Buffer.alloc(bytes, 'salt')
  const data = Object.fromEntries(TEXTS.map((text, i) => [`k${i}`, text]))
  const hashed = TEXTS.map((text, i) => {
    const digest = createHmac('sha256', salt).update(text).digest('hex')
    return [`k${i}`, `sha256:${digest.slice(0, 16)}`]
  })
  expect(hashSecret({ kind: 'Secret', data, stringData: null }, salt)).toEqual({
    kind: 'Secret',
    data: Object.fromEntries(hashed),
    stringData: {},
  })
})
