import { type ClientCredentials, createHttpClient, createTokenSource } from '../../src/sink/index.ts'

/** There is no token: the reason, without secrets. */
export class TokenFault extends Error {
  override name = 'TokenFault'
}

/** Tokens for connections to brokers. */
export interface Tokens {
  /** One that is good for now. Throws a TokenFault. */
  get(): Promise<string>
  /** A broker refused it: the next connection gets a new one. */
  refused(): void
  close(): Promise<void>
}

export interface TokensOptions extends ClientCredentials {
  /** PEM: whom to trust as the token server, instead of the system's authorities. */
  ca?: string | undefined
  userAgent: string
}

/** Connecting to a broker waits for the token, and has 6 s by default. */
const LIMIT_MS = 5_000
const never = new AbortController().signal

/** Gets tokens with client credentials (RFC 6749 §4.4), for all brokers the same. */
export function createTokens({ ca, userAgent, ...credentials }: TokensOptions): Tokens {
  const http = createHttpClient({
    connections: 1,
    timeoutMs: LIMIT_MS,
    secrets: [credentials.clientSecret],
    tls: { ca },
  })
  const source = createTokenSource(credentials, http, userAgent)
  let given: string | undefined
  let bad: string | undefined

  return {
    async get() {
      const granted = await source.get(never, bad)
      if ('fault' in granted) throw new TokenFault(advised(granted.fault.detail))
      given = granted.token
      return given
    },
    refused() {
      bad = given
    },
    async close() {
      source.close()
      await http.close()
    },
  }
}

/** The HTTP client advises `tls`, which here is the brokers'. */
function advised(detail: string): string {
  return detail.replace(/tls: \{ ca: ("[^"]*") \}/, 'tokenCa: $1')
}
