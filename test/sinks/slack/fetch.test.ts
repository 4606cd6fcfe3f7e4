import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createTransport } from '../../../sinks/slack/client.ts'

/** An address that answers, and then lets this process stand still for so long. */
async function startFreezing(frozenMs: number) {
  const server = createServer((_, response) => {
    response.end('{"ok":true}')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, frozenMs)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}

test('an answer that came while the process was frozen counts, although the time for it is over', async () => {
  await using server = await startFreezing(1_500)
  const fetching = createTransport({})
  const response = await fetching.fetch(server.url, {}, AbortSignal.timeout(1_000))
  expect(await response.json()).toEqual({ ok: true })
  await fetching.close()
})

test('a signal that was aborted before ends the call', async () => {
  await using server = await startFreezing(0)
  const fetching = createTransport({})
  const reason = new Error('enough')
  await expect(fetching.fetch(server.url, {}, AbortSignal.abort(reason))).rejects.toBe(reason)
  await fetching.close()
})
