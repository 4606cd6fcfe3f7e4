import type { HttpClient } from './http-client.ts'
import type { Outcome } from './sink.ts'

/** Client credentials (RFC 6749 §4.4). */
export interface ClientCredentials {
  tokenUrl: URL
  clientId: string
  clientSecret: string
  /** Scopes, separated by spaces. */
  scope?: string | undefined
  audience?: string | undefined
  /**
   * The client authentication at the token endpoint: Basic authorization, or fields of the form. Default: `basic`.
   */
  clientAuthentication?: 'basic' | 'body'
}

type Granted = { token: string } | { fault: Outcome & { kind: 'retry' } }

export interface TokenSource {
  /** A token that is good for now; never the `refused` one. */
  get(signal: AbortSignal, refused?: string): Promise<Granted>
  close(): void
}

interface Token {
  value: string
  refreshAtMs: number
  expiresAtMs: number
}

/** The lifetime of a token without `expires_in`. */
const DEFAULT_LIFE_S = 300
const REFRESH_AT = 0.8
/** How long a token that is still good is used before a failed refresh is tried again. */
const REFRESH_PAUSE_MS = 10_000

/**
 * Tokens by client credentials: cached, and renewed in the background after 80 % of their lifetime. `clock` returns
 * monotonic milliseconds: a wall clock that is set back would extend the lifetime.
 */
export function createTokenSource(
  credentials: ClientCredentials,
  http: Pick<HttpClient, 'request'>,
  userAgent: string,
  clock: { now(): number } = performance,
): TokenSource {
  const closed = new AbortController()
  const request = tokenRequest(credentials, userAgent)
  let token: Token | undefined
  let pending: Promise<Granted> | undefined

  async function fetchToken(): Promise<Granted> {
    const sentMs = clock.now()
    const { outcome, body } = await http.request({ ...request, readBody: true }, closed.signal)
    const granted = outcome.kind === 'delivered' ? parseToken(body, sentMs) : undefined
    if (granted) {
      token = granted
      return { token: granted.value }
    }
    const why = 'detail' in outcome ? outcome.detail : 'its answer has no access_token of type Bearer'
    const afterMs = outcome.kind === 'retry' ? outcome.afterMs : undefined
    const detail = `no token from ${credentials.tokenUrl.host}: ${why}`
    if (token) token.refreshAtMs = clock.now() + REFRESH_PAUSE_MS
    return {
      fault: {
        kind: 'retry',
        reason: 'auth',
        scope: 'sink',
        detail,
        ...(afterMs !== undefined && { afterMs }),
      },
    }
  }

  function renew(): Promise<Granted> {
    pending ??= fetchToken().finally(() => {
      pending = undefined
    })
    return pending
  }

  return {
    get(signal, refused) {
      const now = clock.now()
      if (token && token.value !== refused && now < token.expiresAtMs) {
        if (now >= token.refreshAtMs) void renew()
        return Promise.resolve({ token: token.value })
      }
      return unlessStopped(renew(), signal)
    },
    close: () => closed.abort(),
  }
}

function tokenRequest(credentials: ClientCredentials, userAgent: string) {
  const { tokenUrl, clientId, clientSecret, scope, audience, clientAuthentication } = credentials
  const form = new URLSearchParams({ grant_type: 'client_credentials' })
  if (scope) form.set('scope', scope)
  if (audience !== undefined) form.set('audience', audience)
  const headers: Record<string, string> = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
    'user-agent': userAgent,
  }
  // A receiver echoes a request in its encoded form.
  const secrets = [formEncoded(clientSecret)]
  if (clientAuthentication === 'body') {
    form.set('client_id', clientId)
    form.set('client_secret', clientSecret)
  } else {
    const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`
    const encoded = Buffer.from(pair).toString('base64')
    headers['authorization'] = `Basic ${encoded}`
    secrets.push(encoded)
  }
  return { url: tokenUrl, headers, body: Buffer.from(form.toString()), secrets }
}

/** The encoding of user and password in RFC 6749 §2.3.1. */
function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

function parseToken(body: string, sentMs: number): Token | undefined {
  let answer: Record<string, unknown>
  try {
    answer = Object(JSON.parse(body)) as Record<string, unknown>
  } catch {
    return undefined
  }
  const { access_token: value, token_type: type = 'bearer', expires_in: life } = answer
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value)) return undefined
  if (String(type).toLowerCase() !== 'bearer') return undefined
  const lifeMs = (Number(life) > 0 ? Number(life) : DEFAULT_LIFE_S) * 1_000
  return { value, refreshAtMs: sentMs + lifeMs * REFRESH_AT, expiresAtMs: sentMs + lifeMs }
}

async function unlessStopped(granted: Promise<Granted>, signal: AbortSignal): Promise<Granted> {
  const stopped = Promise.withResolvers<Granted>()
  const stop = () =>
    stopped.resolve({
      fault: { kind: 'retry', reason: 'unknown', detail: 'stopped before it was sent', scope: 'sink' },
    })
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([granted, stopped.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
