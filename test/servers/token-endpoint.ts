import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** What a client said of itself, by either way that OAuth 2.0 knows. */
export interface TokenRequest {
  client: string
  secret: string
  grant: string | null
  scope: string | null
  audience: string | null
}

type Answer = { status: number; body: string } | 'hang' | undefined

export interface TokenEndpoint extends AsyncDisposable {
  readonly url: string
  readonly asked: TokenRequest[]
  /** How to answer from now on, instead of with token-1, token-2 …; `asked` is called with each request. */
  answer(answer: Answer, asked?: () => void): void
  /** Resolves when so many were asked for. */
  issued(count: number): Promise<void>
}

/** The token endpoint of an OAuth 2.0 server, for client credentials. */
export async function startTokenEndpoint(
  options: { lifeS?: number; answer?: { status: number; body: string } } = {},
): Promise<TokenEndpoint> {
  const asked: TokenRequest[] = []
  const hanging = new Set<ServerResponse>()
  const waiting = new Set<() => void>()
  let fixed: Answer = options.answer
  let onAsked: (() => void) | undefined
  const server = createServer(async (message, response) => {
    const form = new URLSearchParams(await text(message))
    const [client, secret] = credentials(message.headers.authorization, form)
    const [grant, scope, audience] = ['grant_type', 'scope', 'audience'].map((it) => form.get(it))
    asked.push({ client, secret, grant: grant ?? null, scope: scope ?? null, audience: audience ?? null })
    onAsked?.()
    if (fixed === 'hang') return void hanging.add(response)
    const body = {
      access_token: `token-${asked.length}`,
      token_type: 'Bearer',
      expires_in: options.lifeS ?? 3_600,
    }
    response.writeHead(fixed?.status ?? 200, { 'content-type': 'application/json' })
    response.end(fixed?.body ?? JSON.stringify(body))
    for (const check of waiting) check()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/oauth/token`,
    asked,
    answer(next, then) {
      fixed = next
      onAsked = then
    },
    issued: (count) =>
      new Promise((resolve) => {
        const check = () => asked.length >= count && resolve()
        waiting.add(check)
        check()
      }),
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function credentials(authorization: string | undefined, form: URLSearchParams): [string, string] {
  const basic = /^Basic (.+)$/.exec(authorization ?? '')?.[1]
  if (basic === undefined) return [form.get('client_id') ?? '', form.get('client_secret') ?? '']
  const [client = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(':')
  const decoded = (it: string) => new URLSearchParams(`x=${it}`).get('x') ?? ''
  return [decoded(client), decoded(secret)]
}
