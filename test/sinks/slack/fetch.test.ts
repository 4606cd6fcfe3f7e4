import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createTransport } from '../../../sinks/slack/client.ts'

const FROZEN_MS = 100

/** An address that answers, and then freezes this process. `answered` is called before. */
async function startFreezing(answered: () => void) {
  const server = createServer((_, response) => {
    response.end('{"ok":true}')
    answered()
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FROZEN_MS)
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
  const limit = new AbortController()
  await using server = await startFreezing(() => setTimeout(() => limit.abort(), FROZEN_MS / 2))
  const fetching = createTransport({})
  const response = await fetching.fetch(server.url, {}, limit.signal)
  expect(limit.signal.aborted).toBe(true)
  expect(await response.json()).toEqual({ ok: true })
  await fetching.close()
})

test('a signal that was aborted before ends the call', async () => {
  await using server = await startFreezing(() => {})
  const fetching = createTransport({})
  const reason = new Error('enough')
  await expect(fetching.fetch(server.url, {}, AbortSignal.abort(reason))).rejects.toBe(reason)
  await fetching.close()
})
