import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { packObject, unpackObject } from '../../src/store/commit/previous-objects.ts'
import { compress, decompress } from '../../src/store/packing.ts'
import { trimmedPod } from '../bench/pod.ts'

const UID = '2b5dd4ee-9c1c-4f0c-9b84-0c6f4e5b3a11'

function roundTrip(
  json: Buffer,
  uid = UID,
  version = '104233',
): { version: string | undefined; json: string } {
  const packed = packObject(uid, version, json)
  const object = packed && unpackObject(packed, uid)
  return { version: object?.resourceVersion, json: object?.json().toString() ?? '' }
}

describe('a packed object', () => {
  it.each([
    ['a pod', JSON.stringify(trimmedPod(3))],
    [
      'odd and long runs of digits',
      JSON.stringify({ a: 'f'.repeat(17), b: 'f'.repeat(600), c: 'f'.repeat(17) }),
    ],
    [
      'the same id again and again',
      JSON.stringify({ uid: UID, of: [UID, UID], other: UID.replace('2b', '3c') }),
    ],
    ['many ids', JSON.stringify(Array.from({ length: 300 }, (_, i) => i.toString(16).padStart(32, 'a')))],
    ['letters beyond ASCII', JSON.stringify({ name: 'Zürich 🔴', version: 'é', null: '\u0000' })],
    ['control characters, which JSON has not', '{"a":"\u0001\u0005\u0020"}'],
    [
      'a digest of every length',
      JSON.stringify(Array.from({ length: 80 }, (_, i) => '0123456789abcdef'.repeat(5).slice(0, i))),
    ],
    ['nothing', ''],
  ])('comes back byte for byte: %s', (_what, json) => {
    expect(roundTrip(Buffer.from(json)).json).toBe(json)
  })

  it.each(['1', '104233', '18446744073709551615', '9223372036854775807', '007', 'v1.é', 'x'.repeat(127)])(
    'knows its version: %s',
    (version) => {
      expect(roundTrip(Buffer.from('{}'), UID, version).version).toBe(version)
    },
  )

  it('comes back byte for byte, whatever it is', () => {
    fc.assert(
      fc.property(fc.json(), fc.stringMatching(/^[0-9a-f]{1,80}$/), (json, digits) => {
        const text = `{"uid":"${UID}","resourceVersion":"77","a":"${digits}","b":${json},"c":"${digits}"}`
        expect(roundTrip(Buffer.from(text), UID, '77').json).toBe(text)
      }),
      { numRuns: 300 },
    )
  })

  it('is not kept under a version that is too long, nor read when it is of another format', () => {
    expect(packObject(UID, 'x'.repeat(128), Buffer.from('{}'))).toBeUndefined()
    expect(unpackObject(Buffer.of(9, 1, 1), UID)).toBeUndefined()
  })

  it('is small: ids and digests cost what they hold, and a pod less than 500 bytes', () => {
    const sizes = Array.from({ length: 200 }, (_, i) => {
      const { metadata, ...rest } = trimmedPod(i)
      const json = JSON.stringify({ ...rest, metadata: { ...metadata, resourceVersion: '104233' } })
      return packObject(metadata.uid, '104233', Buffer.from(json))?.length ?? 0
    })
    expect(Math.max(...sizes)).toBeLessThan(500)
  })
})

describe('an unpacked entry', () => {
  it.each([40_000, 70_000, 120_000])('takes the memory of its %i bytes and no more', (size) => {
    const raw = randomBytes(size / 2).toString('hex')
    const unpacked = decompress(compress(Buffer.from(raw)))
    expect(unpacked.toString()).toBe(raw)
    expect(unpacked.buffer.byteLength).toBe(size + 1)
  })

  it.each([0, 1, 13, 255, 256, 65_791, 65_792, 300_000])('is whole with %i bytes', (size) => {
    const raw = Buffer.alloc(size, 'pod/')
    expect(decompress(compress(raw)).equals(raw)).toBe(true)
  })
})
