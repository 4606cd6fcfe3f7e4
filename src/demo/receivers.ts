import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Receivers for the notifications of the demo, in this process: `/chat` accepts all, `/pager` refuses every second one, the first one
 * included, so that there is a dead letter, which it accepts when it is sent again.
 */
export async function startDemoReceivers(): Promise<AsyncDisposable & { url: string }> {
  let pages = 0
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      const isRefused = request.url?.startsWith('/pager') && pages++ % 2 === 0
      response.writeHead(isRefused ? 400 : 200, { 'content-type': 'text/plain' })
      response.end(isRefused ? 'unknown routing key' : 'ok')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
