import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { BrokenStream } from '../../src/watch/client/api-fault.ts'
import type { ClusterClient } from '../../src/watch/client/cluster-client.ts'
import { watchStream } from '../../src/watch/reflector/watch-stream.ts'

const FRAME = `${JSON.stringify({
  type: 'MODIFIED',
  object: { metadata: { uid: 'u', name: 'web', namespace: 'shop', resourceVersion: '7' } },
})}\n`

function standStill(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
}

test('what came while the process stood still is read before it is said that nothing came', async () => {
  const body = new PassThrough()
  const client = { stream: async () => ({ status: 200, headers: {}, body }) } as unknown as ClusterClient
  const resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true }
  let asked = 0
  const batches = watchStream(
    {
      client,
      source: { resource } as never,
      query: {},
      timeoutSeconds: 60,
      graceMs: 1_000,
      clock: { now: Date.now },
      onContact() {},
      idleMs() {
        // Both timers are over when the process goes on, and what lies in the socket comes in the same turn of the loop.
        if (asked++ === 0) {
          setTimeout(() => setImmediate(() => body.write(FRAME)), 1)
          process.nextTick(standStill)
        }
        return 1
      },
    },
    new AbortController().signal,
  )
  expect((await batches.next()).value).toMatchObject({ resourceVersion: '7' })
  expect((await batches.next()).value).toMatchObject({ idle: true })
  await batches.return()
})

test('while a frame is incomplete no timer runs: an idle batch could not come before its end', async () => {
  const body = new PassThrough()
  const client = { stream: async () => ({ status: 200, headers: {}, body }) } as unknown as ClusterClient
  const resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true }
  const parts = { client, source: { resource } as never, query: {}, timeoutSeconds: 60, graceMs: 1_000 }
  let asked = 0
  const idleMs = () => {
    asked++
    return 0
  }
  const request = { ...parts, clock: Date, onContact() {}, idleMs }
  const batches = watchStream(request, new AbortController().signal)
  body.write(FRAME.slice(0, 20))
  const next = batches.next()
  for (let turns = 0; turns < 50; turns++) await pause(1)
  body.write(FRAME.slice(20))
  expect((await next).value).toMatchObject({ resourceVersion: '7' })
  expect(asked).toBeLessThan(5)
  await batches.return()
})

test('a change without a position ends the stream: it cannot be stored, and those behind it would only be collected', async () => {
  const body = new PassThrough()
  const client = { stream: async () => ({ status: 200, headers: {}, body }) } as unknown as ClusterClient
  const resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true }
  const parts = { client, source: { resource } as never, query: {}, timeoutSeconds: 60, graceMs: 1_000 }
  const request = { ...parts, clock: Date, onContact() {}, idleMs: () => 50 }
  const batches = watchStream(request, new AbortController().signal)
  body.write(FRAME.replace('"resourceVersion":"7"', '"resourceVersion":""'))
  await expect(batches.next()).rejects.toThrow('cannot be read')
})

test('where changes wait for their reader beyond the time of a watch, the server is not blamed', async () => {
  const body = new PassThrough()
  const client = {
    async stream(_path: string, _options: object, signal: AbortSignal) {
      signal.addEventListener('abort', () => body.destroy(signal.reason))
      return { status: 200, headers: {}, body }
    },
  } as unknown as ClusterClient
  const resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true }
  const parts = { client, source: { resource } as never, query: {}, timeoutSeconds: 2, graceMs: 0 }
  const request = { ...parts, clock: Date, onContact() {}, maxWaitingBytes: FRAME.length }
  const batches = watchStream(request, new AbortController().signal)
  body.write(FRAME)
  expect((await batches.next()).value).toMatchObject({ resourceVersion: '7' })
  const closed = new Promise((resolve) => body.once('close', resolve))
  for (let i = 0; i < 3; i++) body.write(FRAME)
  await closed
  expect((await batches.next()).value).toMatchObject({ resourceVersion: '7' })
  const error = (await batches.next().catch((it: unknown) => it)) as Error
  expect(error).toBeInstanceOf(BrokenStream)
  expect(error.message).not.toMatch(/server|silent/)
})
