import type { ConnectionOptions } from 'node:tls'
import { type ClientCredentials, createHttpClient, createTokenSource } from '../../src/sink/index.ts'
import type { KafkaConfig } from './config.ts'

/** Secrets that must not appear in logs or outcomes. */
export function secretsOf({ sasl, tls }: Pick<KafkaConfig, 'sasl' | 'tls'>): string[] {
  const secrets = [tls?.key]
  if (sasl?.mechanism === 'oauthbearer') secrets.push(sasl.token, sasl.clientSecret)
  else secrets.push(sasl?.password)
  return secrets.filter((it) => it !== undefined)
}

export function tlsOptions(tls: KafkaConfig['tls']): ConnectionOptions | undefined {
  if (!tls) return undefined
  const { insecureSkipVerify, ca, cert, key, servername } = {
    ca: undefined,
    cert: undefined,
    key: undefined,
    servername: undefined,
    ...tls,
  }
  return {
    rejectUnauthorized: !insecureSkipVerify,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert, key }),
    ...(servername !== undefined && { servername }),
  }
}

/** The SASL credentials of the brokers. */
export interface Sasl {
  /** In kafkajs' format. */
  options: object
  /** A broker refused it. */
  refused(): void
  close(): Promise<void>
}

export function createSasl(sasl: KafkaConfig['sasl'], userAgent: string): Sasl | undefined {
  if (!sasl) return undefined
  if (sasl.mechanism !== 'oauthbearer') return constant(sasl)
  const { token, tokenUrl, clientId = '', clientSecret = '', scope, tokenCa: ca } = sasl
  if (!tokenUrl) return constant(bearer(async () => token ?? ''))
  const tokens = createTokens({ tokenUrl, clientId, clientSecret, scope, ca, userAgent })
  return { options: bearer(tokens.get), refused: tokens.refused, close: tokens.close }
}

const constant = (options: object): Sasl => ({ options, refused() {}, async close() {} })

const bearer = (get: () => Promise<string>) => ({
  mechanism: 'oauthbearer',
  oauthBearerProvider: async () => ({ value: await get() }),
})

/** No token was granted; the message is the reason, without secrets. */
class TokenFault extends Error {
  override name = 'TokenFault'
}

/** Tokens for connections to brokers. */
interface Tokens {
  /** One that is good for now. Throws a TokenFault. */
  get(): Promise<string>
  /** A broker refused it: the next connection gets a new one. */
  refused(): void
  close(): Promise<void>
}

interface TokensOptions extends ClientCredentials {
  /** PEM: the authorities to trust for the token server, in place of the system's. */
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
