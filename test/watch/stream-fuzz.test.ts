import { PassThrough, Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ClusterClient } from '../../src/watch/client/cluster-client.ts'
import { decoded } from '../../src/watch/client/connect.ts'
import type { Oversized } from '../../src/watch/decode/oversized.ts'
import { type WatchRequest, watchStream } from '../../src/watch/reflector/watch-stream.ts'
import { configMap } from '../servers/scripted-api.ts'

/** The frames of a watch come out once and in order, however the network cuts and the reader pauses them. */

const MAX_OBJECT = 2_000
const MAX_WAITING = 5_000
/** The longest frame that is read whole. */
const MAX_FRAME = MAX_OBJECT + 64

interface Line {
  bytes: Buffer
  /** What comes out of it; an empty line and a bookmark give no change. */
  expected?: string
}

/** A change whose object has exactly `size` bytes of JSON (or the least that it can have). */
function changeOf(i: number, size: number, end: string): Line {
  const object = { ...configMap(`o${i}`, i + 11), text: 'ä\u2028\r' }
  const missing = size - Buffer.byteLength(JSON.stringify(object))
  const text = JSON.stringify({ ...object, text: `${object.text}${'x'.repeat(Math.max(0, missing))}` })
  const bytes = Buffer.from(`{"type":"ADDED","object":${text}}${end}`)
  return { bytes, expected: `o${i}@${i + 11}${bytes.length - 1 > MAX_FRAME ? ' oversized' : ''}` }
}

function bookmarkOf(i: number, end: string): Line {
  const object = { metadata: { resourceVersion: String(i + 11) } }
  return { bytes: Buffer.from(`${JSON.stringify({ type: 'BOOKMARK', object })}${end}`) }
}

/** Reads the stream to its end, and waits for some turns of the event loop with each batch. */
async function readAll(body: Readable, pauses: readonly number[], options: Partial<WatchRequest> = {}) {
  const client = { stream: async () => ({ status: 200, headers: {}, body }) } as unknown as ClusterClient
  const resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true }
  const changes: string[] = []
  const oversized: Oversized[] = []
  let position = ''
  const request = {
    client,
    source: { resource } as never,
    query: {},
    timeoutSeconds: 60,
    graceMs: 1_000,
    clock: Date,
    onContact() {},
    maxObjectBytes: MAX_OBJECT,
    maxWaitingBytes: MAX_WAITING,
    onOversized: (it: Oversized) => void oversized.push(it),
    ...options,
  }
  let batches = 0
  for await (const batch of watchStream(request, new AbortController().signal)) {
    for (const { object } of batch.changes) {
      const { metadata, text } = JSON.parse(object.bytes.toString())
      const isReduced = metadata.annotations?.['kubeherald.dev/oversized-bytes'] !== undefined
      expect(text === undefined).toBe(isReduced)
      changes.push(`${object.name}@${object.resourceVersion}${isReduced ? ' oversized' : ''}`)
    }
    position = batch.resourceVersion
    for (let i = pauses[batches++ % pauses.length] ?? 0; i > 0; i--) await turn()
  }
  return { changes, oversized, position }
}

function pieces(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const all: Buffer[] = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? bytes.length
    all.push(bytes.subarray(at, at + size))
    at += size
  }
  return all
}

/** Sizes around the limits, and some others. */
const size = fc.oneof(
  fc.constantFrom(0, 200, 4_096),
  ...[MAX_FRAME - 26, MAX_WAITING, MAX_WAITING - MAX_OBJECT].map((at) =>
    fc.integer({ min: at - 3, max: at + 3 }),
  ),
  fc.integer({ min: 150, max: 12_000 }),
)
const line = fc.record({
  what: fc.constantFrom('change', 'change', 'change', 'bookmark', 'empty'),
  size,
  end: fc.constantFrom('\n', '\r\n'),
})

test('frames of any size, in any pieces, come out once and in order', async () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 1, maxLength: 12 })
  const pauses = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 5 })
  const compress = fc.constantFrom('none', 'member for each frame', 'members across frames')
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 25 }),
      cuts,
      pauses,
      compress,
      async (lines, sizes, waits, how) => {
        const written = lines.map(({ what, size, end }, i): Line => {
          if (what === 'change') return changeOf(i, size, end)
          return what === 'bookmark' ? bookmarkOf(i, end) : { bytes: Buffer.from('\n') }
        })
        const plain = written.map(({ bytes }) => bytes)
        const whole = Buffer.concat(plain)
        const members = how === 'member for each frame' ? plain : pieces(whole, [...sizes, 777])
        const wire = how === 'none' ? whole : Buffer.concat(members.map((it) => gzipSync(it)))
        const headers = how === 'none' || wire.length === 0 ? {} : { 'content-encoding': 'gzip' }
        const read = await readAll(
          decoded(headers, Readable.from(pieces(wire, sizes), { objectMode: false })),
          waits,
        )
        const expected = written.flatMap(({ expected }) => expected ?? [])
        expect(read.changes).toEqual(expected)
        expect(read.oversized).toHaveLength(expected.filter((it) => it.endsWith('oversized')).length)
        const last = lines.findLastIndex(({ what }) => what !== 'empty')
        expect(read.position).toBe(last === -1 ? '' : String(last + 11))
      },
    ),
    { numRuns: 300 },
  )
})

test('a stream may be cut at every byte', async () => {
  const frames = [changeOf(0, 0, '\n'), changeOf(1, 400, '\r\n'), bookmarkOf(2, '\n'), changeOf(3, 0, '\n')]
  const whole = Buffer.concat(frames.map(({ bytes }) => bytes))
  const expected = ['o0@11', 'o1@12 oversized', 'o3@14']
  for (let at = 1; at < whole.length; at++) {
    const body = new PassThrough()
    const read = readAll(body, [0], { maxObjectBytes: 300, maxWaitingBytes: 100 })
    body.write(whole.subarray(0, at))
    await turn()
    body.end(whole.subarray(at))
    expect((await read).changes, `cut at ${at}`).toEqual(expected)
  }
})

test('an oversized object without readable metadata is skipped and counted; the frames after it arrive', async () => {
  const { metadata } = configMap('hidden', 12)
  const hidden = { data: 'x'.repeat(3 * 1024 * 1024), kind: 'ConfigMap', metadata }
  const lines = [changeOf(0, 0, '\n').bytes, `${JSON.stringify({ type: 'ADDED', object: hidden })}\n`]
  const body = Readable.from(
    pieces(Buffer.concat([...lines.map(Buffer.from), changeOf(2, 0, '\n').bytes]), [65_536]),
  )
  const read = await readAll(body, [0])
  expect(read.changes).toEqual(['o0@11', 'o2@13'])
  expect(read.oversized).toEqual([{ bytes: expect.any(Number) }])
})
