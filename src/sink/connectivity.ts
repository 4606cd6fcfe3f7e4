import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { guardedLookup } from './link-local.ts'
import { basicAuthorization } from './mask.ts'
import { networkFault } from './network-fault.ts'
import type { Health } from './sink.ts'
import type { TlsOptions } from './tls-options.ts'

export interface Reach {
  url: URL
  proxy: URL | undefined
  guarded: boolean
  tls: TlsOptions | undefined
  timeoutMs: number
}

/** With TLS 1.3 a client certificate is judged after the handshake: so long the verdict may take. */
const VERDICT_MS = 250

/** Connects as a request would, asks nothing, and hangs up. */
export async function checkConnection(reach: Reach, signal: AbortSignal): Promise<Health> {
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
    const { reason, words } = networkFault(fault, { host: url.host, secure, via })
    const { code, message } = fault as { code?: string; message?: string }
    return { ok: false, reason, detail: words ?? code ?? message ?? 'the connection failed' }
  } finally {
    // What lies on top first: Node 24 crashes when a connection is destroyed under a TLS socket.
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
  { guarded }: Reach,
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
  const [chunk] = (await once(socket, 'data', { signal })) as [Buffer]
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(chunk.toString('latin1'))?.[1] ?? '502'
  if (status !== '200') throw new Error(`Proxy response (${status})`)
  socket.pause()
}
