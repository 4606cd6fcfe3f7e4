import type { ConnectionOptions } from 'node:tls'
import type { KafkaConfig } from './config.ts'
import { createTokens } from './token.ts'

/** What must be told nowhere. */
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

/** What shows the brokers who we are. */
export interface Sasl {
  /** As kafkajs wants it. */
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
