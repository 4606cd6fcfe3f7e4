import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type { TlsOptions } from '../sink/index.ts'

/** What is said where a handshake gets no answer. */
export const NO_TLS = 'no answer to the TLS handshake'

/** What Node's TLS takes. `ca` stands in place of the authorities that Node knows. */
export function tlsOptionsOf(tls: true | TlsOptions, host: string): ConnectionOptions {
  const { ca, cert, key, servername } = tls === true ? {} : tls
  const name = servername ?? (isIP(host) ? undefined : host)
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(name !== undefined && { servername: name }),
  }
}
