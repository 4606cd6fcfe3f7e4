import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A pager that keeps the keys of what it got; when it refuses, it repeats what it was sent. */
export async function startFakePager() {
  const keys: string[] = []
  let answer: (key: string, headers: IncomingHttpHeaders) => [status: number, body?: string] | undefined =
    WELL
  const server = createServer(async (request, response) => {
    const sent = await text(request)
    const { key = '' } = (sent === '' ? {} : JSON.parse(sent)) as { key?: string }
    if (request.method === 'POST') keys.push(key)
    const [status, body] = answer(key, request.headers) ?? []
    if (status !== undefined) response.writeHead(status).end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    keys,
    refuse() {
      answer = (_, headers) => [503, JSON.stringify(headers)]
    },
    hang() {
      answer = () => undefined
    },
    refuseOne(id: string) {
      answer = (key) => (key === id ? [500] : [200])
    },
    restore() {
      answer = WELL
      server.closeAllConnections()
    },
    forget: () => void keys.splice(0),
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const WELL = (): [number] => [200]
