import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { basicAuthorization } from './mask.ts'
import { guardedLookup } from './proxy.ts'
import type { Health, Reason } from './sink.ts'
import type { TlsOptions } from './tls-options.ts'

interface ConnectionCheck {
  url: URL
  proxy: URL | undefined
  guarded: boolean
  tls: TlsOptions | undefined
  timeoutMs: number
}

/** Time to wait for an alert: with TLS 1.3 the server verifies a client certificate after the handshake. */
const VERDICT_MS = 250

/** Connects as a request would, sends nothing, and closes the connection. */
export async function checkConnection(reach: ConnectionCheck, signal: AbortSignal): Promise<Health> {
  const { url, proxy, timeoutMs } = reach
  const secure = url.protocol === 'https:'
  const limit = AbortSignal.timeout(timeoutMs)
  const opened: Socket[] = []
  let tunnelled = false
  try {
    const stop = AbortSignal.any([signal, limit])
    const ca = reach.tls?.ca && { ca: reach.tls.ca }
    const first = await open(proxy ?? url, proxy ? { ...ca } : { ...reach.tls }, reach, stop, opened)
    if (proxy && secure) {
      await tunnel(first, url, proxy, stop)
      tunnelled = true
      await open(url, { ...reach.tls }, reach, stop, opened, first)
    }
    return { ok: true }
  } catch (error) {
    const late = limit.aborted && !signal.aborted
    const fault = late ? { code: 'ETIMEDOUT' } : signal.aborted ? new Error('stopped') : error
    const via = tunnelled ? undefined : proxy?.host
    const { reason, message: known } = networkFault(fault, { host: url.host, secure, via })
    const { code, message } = fault as { code?: string; message?: string }
    return { ok: false, reason, detail: known ?? code ?? message ?? 'the connection failed' }
  } finally {
    // Close the inner socket first: Node 24 crashes when a connection is destroyed below a TLS socket.
    for (const socket of opened.toReversed()) await destroyed(socket)
  }
}

async function destroyed(socket: Socket): Promise<void> {
  const closed = socket.closed ? undefined : new Promise((resolve) => socket.once('close', resolve))
  socket.destroy()
  await closed
}

async function open(
  url: URL,
  tls: TlsOptions,
  { guarded }: ConnectionCheck,
  signal: AbortSignal,
  opened: Socket[],
  through?: Socket,
): Promise<Socket> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const secure = url.protocol === 'https:'
  const port = Number(url.port) || (secure ? 443 : 80)
  const servername = tls.servername ?? (isIP(host) ? '' : host)
  const common = { host, port, ...(guarded && { lookup: guardedLookup }) }
  const socket = secure
    ? connectTls({
        ...common,
        ...tls,
        servername,
        ALPNProtocols: ['http/1.1'],
        ...(through && { socket: through }),
      })
    : connectTcp(common)
  opened.push(socket)
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => {})
  socket.on('error', failed.reject)
  const session = once(socket, 'session').catch(() => {})
  await Promise.race([once(socket, secure ? 'secureConnect' : 'connect', { signal }), failed.promise])
  if (secure && (socket as TLSSocket).getProtocol() === 'TLSv1.3') {
    const enough = new Promise((resolve) => setTimeout(resolve, VERDICT_MS))
    const closed = once(socket, 'close').then(() => {
      throw Object.assign(new Error('closed'), { code: 'ECONNRESET' })
    })
    closed.catch(() => {})
    await Promise.race([session, enough, closed, failed.promise])
  }
  return socket
}

async function tunnel(socket: Socket, url: URL, proxy: URL, signal: AbortSignal): Promise<void> {
  const target = `${url.hostname}:${url.port || 443}`
  const authorization = basicAuthorization(proxy)
  const lines = [`CONNECT ${target} HTTP/1.1`, `host: ${target}`]
  if (authorization) lines.push(`proxy-authorization: ${authorization}`)
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(await headOf(socket, signal))?.[1] ?? '502'
  if (status !== '200') throw new Error(`Proxy response (${status})`)
}

const MAX_HEAD = 16_384

/** Returns the answer of a proxy up to its empty line, or its beginning; what follows belongs to the tunnel, and stays in the socket. */
async function headOf(socket: Socket, signal: AbortSignal): Promise<string> {
  const whole = Promise.withResolvers<void>()
  let head = ''
  const read = (chunk: Buffer) => {
    head += chunk.toString('latin1')
    if (!head.includes('\r\n\r\n') && head.length < MAX_HEAD) return
    socket.pause()
    whole.resolve()
  }
  const stop = () => whole.reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  socket.on('data', read).once('end', whole.resolve)
  try {
    await whole.promise
    return head
  } finally {
    signal.removeEventListener('abort', stop)
    socket.off('data', read).off('end', whole.resolve)
  }
}

/** Where a connection was to lead. */
export interface Destination {
  /** As in a URL, with the port if it has one. */
  host: string
  secure: boolean
  /** The proxy of the route, if it has one. */
  via?: string | undefined
}

interface NetworkFault {
  reason: Reason
  /** The message, with a remedy if there is a certain one; undefined for unknown errors. */
  message?: string
}

/** Classifies a failed connection. */
export function networkFault(error: unknown, { host, secure, via }: Destination): NetworkFault {
  const { code, message } = innermost(error)
  const peer = via ?? host
  const name = peer.replace(/:\d+$/, '')
  const tunnel = /Proxy response \((\d+)\)/.exec(message)?.[1]
  if (tunnel === '407') return { reason: 'auth', message: `the proxy ${via} wants a user and a password` }
  if (tunnel)
    return { reason: 'network', message: `the proxy ${via} does not connect to ${host}: HTTP ${tunnel}` }
  switch (code) {
    case 'ECONNREFUSED':
      return { reason: 'network', message: `nobody listens at ${peer}` }
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return { reason: 'network', message: `the name ${name} cannot be resolved` }
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return { reason: 'network', message: `no route to ${peer}` }
    case 'ETIMEDOUT':
    case 'UND_ERR_CONNECT_TIMEOUT':
      return { reason: 'network', message: `no connection to ${peer} in time` }
    case 'ECONNRESET':
    case 'EPIPE':
    case 'UND_ERR_SOCKET':
    case 'UND_ERR_PRX_CONN':
      return { reason: 'network', message: broken(secure) }
    case 'ELINKLOCAL':
      return { reason: 'config', message: forbidden(name) }
  }
  return certificateFault(code, host, message) ?? { reason: 'network' }
}

/** The detail for a host that is refused without a request. */
export function forbidden(host: string): string {
  return `${host} is a link-local or metadata address; allowLinkLocal permits it`
}

const UNKNOWN_AUTHORITY =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT\w*)$/

function certificateFault(code: string, host: string, text: string): NetworkFault | undefined {
  const fault = (message: string): NetworkFault => ({ reason: 'network', message })
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
      message: `${host} wants a client certificate that it knows: tls: { cert: …, key: … }`,
    }
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_'))
    return fault(
      /wrong version number|packet length too long/i.test(`${code.replaceAll('_', ' ')} ${text}`)
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

/** Longer values are not error codes. */
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
