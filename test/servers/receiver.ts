import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

/** A request as it came. `status` is what it was answered; 0 when it was not. */
export interface ReceivedRequest {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
  atMs: number
  status: number
}

export interface Answer {
  status?: number
  headers?: Record<string, string>
  body?: string
  delayMs?: number
  /** Never answers. */
  hang?: boolean
  /** Cuts the connection. */
  reset?: boolean
}

export interface Receiver extends AsyncDisposable {
  readonly url: string
  /** All requests, in the order in which they came. */
  readonly requests: ReceivedRequest[]
  /** How to answer from now on; requests that hang are answered so, too. */
  answer(how: (request: ReceivedRequest) => Answer): void
}

/** A webhook that keeps what it gets, decompressed, and answers as told; over TLS with these options. */
export async function startReceiver(tls?: ServerOptions): Promise<Receiver> {
  const requests: ReceivedRequest[] = []
  let how: (request: ReceivedRequest) => Answer = () => ({ status: 200 })
  const hanging = new Set<ServerResponse>()

  const server = tls ? createSecureServer(tls, receive) : createServer(receive)

  function receive(message: IncomingMessage, response: ServerResponse): void {
    void read(message).then(
      (body) => {
        const { method = '', url: path = '', headers } = message
        const received: ReceivedRequest = { method, path, headers, body, atMs: Date.now(), status: 0 }
        requests.push(received)
        respond(received, response, how(received))
      },
      () => {},
    )
  }

  function respond(received: ReceivedRequest, response: ServerResponse, answer: Answer): void {
    if (answer.hang) return void hanging.add(response)
    if (answer.reset) return void response.destroy()
    const { status = 200, headers = {}, body = '', delayMs = 0 } = answer
    const finish = () => {
      received.status = status
      response.writeHead(status, headers).end(body)
    }
    if (delayMs > 0) setTimeout(finish, delayMs)
    else finish()
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/hook`,
    requests,
    answer(next) {
      how = next
      for (const response of hanging) response.destroy()
      hanging.clear()
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function read(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  const body = Buffer.concat(chunks)
  return (message.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString()
}
