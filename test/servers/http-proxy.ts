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

export interface HttpProxyOptions {
  /** Names that only the proxy knows, with what they stand for: `{ 'hook.corp': '127.0.0.1' }`. */
  names?: Readonly<Record<string, string>>
  /** Whom it lets through, as `user:password`. Default: everybody. */
  user?: string
  /** Answers a request for a tunnel in two pieces. */
  inPieces?: boolean
}

/** A proxy as companies have them: tunnels for https, plain requests for http. */
export async function startHttpProxy({
  names = {},
  user,
  inPieces = false,
}: HttpProxyOptions = {}): Promise<HttpProxy> {
  const allowed = user && `Basic ${Buffer.from(user).toString('base64')}`
  const asked: string[] = []
  const credentials: string[] = []
  const server = createServer((message, response) => {
    const { host, pathname, search, hostname, port } = new URL(message.url ?? '')
    asked.push(host)
    credentials.push(String(message.headers['proxy-authorization'] ?? ''))
    if (allowed && message.headers['proxy-authorization'] !== allowed)
      return void response.writeHead(407).end('who are you')
    const options = {
      hostname: names[hostname] ?? hostname,
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
    if (allowed && message.headers['proxy-authorization'] !== allowed)
      return void client.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n')
    const onward = connect(Number(port), names[host] ?? host, () => {
      const begin = () => void onward.pipe(client).pipe(onward)
      if (!inPieces) return client.write('HTTP/1.1 200 Connection Established\r\n\r\n', begin)
      client.write('HTTP/1.1 200 Connection Established\r\nvia: 1.1 proxy\r')
      return setTimeout(() => client.write('\n\r\n', begin), 50)
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
