import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'

export interface HttpProxy extends AsyncDisposable {
  readonly url: string
  /** host:port of every tunnel and of every plain request that it was asked for. */
  readonly asked: string[]
  /** The proxy-authorization headers that came. */
  readonly credentials: string[]
}

/** A proxy as companies have them: tunnels for https, plain requests for http. */
export async function startHttpProxy(): Promise<HttpProxy> {
  const asked: string[] = []
  const credentials: string[] = []
  const server = createServer((message, response) => {
    const { host, pathname, search, hostname, port } = new URL(message.url ?? '')
    asked.push(host)
    credentials.push(String(message.headers['proxy-authorization'] ?? ''))
    const options = {
      hostname,
      port,
      path: pathname + search,
      method: message.method,
      headers: message.headers,
    }
    const onward = request(options, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    message.pipe(onward)
  })
  server.on('connect', (message, client) => {
    asked.push(message.url ?? '')
    credentials.push(String(message.headers['proxy-authorization'] ?? ''))
    const [host = '', port] = (message.url ?? '').split(':')
    const onward = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      onward.pipe(client).pipe(onward)
    })
    for (const [socket, other] of [
      [onward, client],
      [client, onward],
    ] as const) {
      socket.on('error', () => {})
      socket.on('close', () => other.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    credentials,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
