import type { ConnectionOptions } from 'node:tls'
import type { Mask, SinkContext } from '../../src/sink/index.ts'
import type { KafkaConfig } from './config.ts'
import { createTokenSource } from './token.ts'

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

/** As kafkajs wants it. */
export function saslOptions(
  sasl: KafkaConfig['sasl'],
  context: Pick<SinkContext, 'clock' | 'userAgent'>,
  mask: Mask,
): object | undefined {
  if (sasl?.mechanism !== 'oauthbearer') return sasl
  const { token, tokenUrl = '', clientId = '', clientSecret = '', scope } = sasl
  const source =
    token !== undefined
      ? async () => token
      : createTokenSource({ tokenUrl, clientId, clientSecret, scope }, { ...context, mask })
  return { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: await source() }) }
}
