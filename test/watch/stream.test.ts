import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import type { ClusterClient } from '../../src/watch/cluster-client.ts'
import { watchStream } from '../../src/watch/stream.ts'

/** Accepts one connection in a thread of its own, and sends the frame when told; says when it is on its way. */
const SERVER = `
const { createServer } = require('node:net')
const { parentPort, workerData } = require('node:worker_threads')
const sent = new Int32Array(workerData.sent)
const server = createServer((socket) => {
  parentPort.on('message', () =>
    socket.write(workerData.frame, () => { Atomics.store(sent, 0, 1); Atomics.notify(sent, 0) }))
  parentPort.postMessage('connected')
})
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`
const IDLE_MS = 300
const FRAME = `${JSON.stringify({
  type: 'MODIFIED',
  object: { metadata: { uid: 'u', name: 'web', namespace: 'shop', resourceVersion: '7' } },
})}\n`

// Without the second look it never passes; with it, bytes that the other thread wrote may still be on their way.
test('what came while the process stood still is read before it is said that nothing came', {
  retry: 5,
}, async () => {
  const sent = new SharedArrayBuffer(4)
  const worker = new Worker(SERVER, { eval: true, workerData: { sent, frame: FRAME } })
  await using _ = { [Symbol.asyncDispose]: async () => void (await worker.terminate()) }
  const [port] = (await once(worker, 'message')) as [number]
  const body = connect(port, '127.0.0.1')
  await once(worker, 'message')
  const client = { stream: async () => ({ status: 200, headers: {}, body }) } as unknown as ClusterClient
  const resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true }
  const batches = watchStream(
    {
      client,
      source: { resource } as never,
      query: {},
      timeoutSeconds: 60,
      graceMs: 1_000,
      clock: { now: Date.now },
      onContact() {},
      idleMs: () => IDLE_MS,
    },
    new AbortController().signal,
  )
  let next = batches.next()
  for (let waits = false; !waits; ) {
    waits = true
    void next.then(() => {
      waits = false
    })
    // From here the next that runs are timers.
    await setImmediate()
    if (!waits) next = batches.next()
  }
  // Nothing runs until the frame has come, and the time is over.
  worker.postMessage('send')
  Atomics.wait(new Int32Array(sent), 0, 0)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * IDLE_MS)
  expect((await next).value).toMatchObject({ resourceVersion: '7' })
  await batches.return()
})
