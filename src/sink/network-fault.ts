import type { Reason } from './outcome.ts'

/** Where a connection was to lead. */
export interface Destination {
  /** As in a URL, with the port if there is one. */
  host: string
  secure: boolean
  /** The proxy on the way, if there is one. */
  via?: string | undefined
}

export interface NetworkFault {
  reason: Reason
  /** In words, with what to do about it where that is known; undefined for what has no words. */
  words?: string
}

/** What a failed connection means. */
export function networkFault(error: unknown, { host, secure, via }: Destination): NetworkFault {
  const { code, message } = innermost(error)
  const peer = via ?? host
  const name = peer.replace(/:\d+$/, '')
  const tunnel = /Proxy response \((\d+)\)/.exec(message)?.[1]
  if (tunnel === '407') return { reason: 'auth', words: `the proxy ${via} wants a user and a password` }
  if (tunnel)
    return { reason: 'network', words: `the proxy ${via} does not connect to ${host}: HTTP ${tunnel}` }
  switch (code) {
    case 'ECONNREFUSED':
      return { reason: 'network', words: `nobody listens at ${peer}` }
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return { reason: 'network', words: `the name ${name} cannot be resolved` }
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return { reason: 'network', words: `no route to ${peer}` }
    case 'ETIMEDOUT':
    case 'UND_ERR_CONNECT_TIMEOUT':
      return { reason: 'network', words: `no connection to ${peer} in time` }
    case 'ECONNRESET':
    case 'EPIPE':
    case 'UND_ERR_SOCKET':
    case 'UND_ERR_PRX_CONN':
      return { reason: 'network', words: broken(secure) }
    case 'ELINKLOCAL':
      return { reason: 'config', words: forbidden(name) }
  }
  return certificateFault(code, host, message) ?? { reason: 'network' }
}

/** For what is not asked at all. */
export function forbidden(host: string): string {
  return `${host} is a link-local or metadata address; allowLinkLocal permits it`
}

const UNKNOWN_AUTHORITY =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT\w*)$/

function certificateFault(code: string, host: string, message: string): NetworkFault | undefined {
  const fault = (words: string): NetworkFault => ({ reason: 'network', words })
  if (UNKNOWN_AUTHORITY.test(code))
    return fault(
      `the certificate of ${host} is of an authority that is not known here; name it: tls: { ca: "\${file:/path/ca.crt}" }`,
    )
  if (code === 'CERT_HAS_EXPIRED') return fault(`the certificate of ${host} has expired`)
  if (code === 'CERT_NOT_YET_VALID') return fault(`the certificate of ${host} is not valid yet`)
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'UND_ERR_PRX_TLS')
    return fault(
      `the certificate of ${host} is for another name; if it is the right one, write that name: tls: { servername: … }`,
    )
  if (/ALERT_(CERTIFICATE|BAD_CERTIFICATE|UNKNOWN_CA|HANDSHAKE)|ALERT_\w*CERTIFICATE/.test(code))
    return {
      reason: 'auth',
      words: `${host} wants a client certificate that it knows: tls: { cert: …, key: … }`,
    }
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_'))
    return fault(
      /wrong version number|packet length too long/i.test(`${code.replaceAll('_', ' ')} ${message}`)
        ? `${host} does not speak TLS; is it http:// there?`
        : `no TLS connection to ${host}: ${code}`,
    )
  return undefined
}

/** A client certificate that is refused shows as nothing but this. */
function broken(secure: boolean): string {
  return secure
    ? 'the connection broke; so does a receiver that does not accept our client certificate'
    : 'the connection broke'
}

/** Codes are short names; what is longer is none. */
const MAX_CODE = 200

function innermost(error: unknown): { code: string; message: string } {
  const { code, message, cause, errors } = (error ?? {}) as Record<string, unknown>
  const inner = Array.isArray(errors) ? errors[0] : cause
  if (inner && (code === undefined || code === 'UND_ERR_PRX_CONN' || code === 'UND_ERR_PRX_TLS')) {
    const found = innermost(inner)
    if (found.code !== '') return found
  }
  return { code: String(code ?? '').slice(0, MAX_CODE), message: String(message ?? '') }
}
