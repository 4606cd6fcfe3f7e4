import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { actorOf, MAX_ACTOR } from '../../model/control.ts'
import type { RefusalReason } from '../server-metrics.ts'

/** Who may use the page and the API, by the configuration. */
export interface AccessSettings {
  tokens?: readonly TokenSettings[] | undefined
  proxy?: ProxySettings | undefined
  /** Names that are allowed in `Host` and `Origin`. */
  hosts?: readonly string[] | undefined
}

type Role = 'read' | 'act'

interface TokenSettings {
  name: string
  role: Role
  token: string
  namespaces?: readonly string[] | undefined
}

interface ProxySettings {
  userHeader: string
  groupsHeader?: string | undefined
  actGroups?: readonly string[] | undefined
  /** Addresses, or ranges of them. */
  trust: readonly string[]
}

/** The parts of a request that decide. */
export interface Asking {
  method: string
  /** Path and query. */
  url: string
  headers: IncomingHttpHeaders
  /** `1.1` */
  httpVersion: string
  /** Address of the other end of the connection. */
  peer: string
}

/** Who a request is from. */
export interface Caller {
  /** `token:ci`, `user:alice`, or `local` on a server without tokens and proxy. */
  name: string
  role: Role
  /** The namespaces that it may read; undefined: everything. */
  namespaces?: readonly string[] | undefined
}

/** Why a request is not served. */
export interface Refusal {
  status: 400 | 401 | 403 | 404
  reason: RefusalReason
  detail: string
}

export interface Access {
  /** Whether the files of the page may be read: they hold no data, and ask for the token. */
  page(asking: Asking): Refusal | undefined
  /** Who a request to the API is from. */
  api(asking: Asking): Caller | Refusal
}

const LOCAL: Caller = { name: 'local', role: 'act' }
const NOT_HERE: Refusal = {
  status: 404,
  reason: 'not-local',
  detail: 'there are /livez, /readyz and /metrics',
}
const NO_TOKEN: Refusal = {
  status: 401,
  reason: 'no-token',
  detail: 'needs "Authorization: Bearer TOKEN" with a token of server.tokens',
}
const WRONG_TOKEN: Refusal = { ...NO_TOKEN, reason: 'wrong-token' }

/** Returns the decisions of one configuration. Tokens are kept as digests, and all are compared, in constant time. */
export function createAccess({ tokens = [], proxy, hosts = [] }: AccessSettings): Access {
  const known = tokens.map(({ token, name, ...rights }) => ({
    digest: digestOf(token),
    caller: { name: actorOf('token', name), ...rights },
  }))
  const trusted = proxy && rangesOf(proxy.trust)
  const isOpen = tokens.length > 0 || proxy !== undefined
  const names = new Set(hosts.map((host) => host.toLowerCase()))

  function isNamed(host: string | undefined): boolean {
    const name = host?.toLowerCase() ?? ''
    return names.has(name) || names.has(withoutPort(name))
  }

  function wrongHost({ headers: { host } }: Asking): Refusal | undefined {
    const isKnown = isNamed(host) || isLoopbackName(withoutPort(host ?? ''))
    if (isKnown || (isOpen && names.size === 0)) return undefined
    const detail = 'this name of the host is not allowed: write it into server.hosts, or use http://localhost'
    return { status: 403, reason: 'host', detail }
  }

  /** A page of another site must not use the rights that the browser, or the place of the browser, has. */
  function foreignOrigin({ headers }: Asking): Refusal | undefined {
    const { host, origin, 'sec-fetch-site': site } = headers
    const from = origin === undefined ? undefined : (URL.parse(origin)?.host ?? '')
    const isOwn = from === undefined || (from !== '' && (from === host?.toLowerCase() || isNamed(from)))
    const isSame = site === undefined || site === 'same-origin' || site === 'none'
    if (isOwn && isSame) return undefined
    return { status: 403, reason: 'origin', detail: 'requests of other sites are not allowed' }
  }

  function callerOf({ headers, peer }: Asking): Caller | Refusal {
    const { authorization } = headers
    if (authorization !== undefined) return callerOfToken(authorization) ?? WRONG_TOKEN
    if (proxy && trusted?.check(peer, familyOf(peer))) return userOf(headers, proxy) ?? NO_TOKEN
    return NO_TOKEN
  }

  function callerOfToken(authorization: string): Caller | undefined {
    const given = digestOf(/^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? '')
    let found: Caller | undefined
    for (const { digest, caller } of known) if (timingSafeEqual(digest, given)) found ??= caller
    return found
  }

  return {
    page(asking) {
      if (!isOpen && !isLocal(asking)) return NOT_HERE
      return tokenInUrl(asking) ?? wrongHost(asking)
    },
    api(asking) {
      if (!isOpen && !isLocal(asking)) return NOT_HERE
      const refusal = tokenInUrl(asking) ?? wrongHost(asking) ?? foreignOrigin(asking)
      if (refusal) return refusal
      if (!isOpen) return asking.headers.authorization === undefined ? LOCAL : WRONG_TOKEN
      return callerOf(asking)
    },
  }
}

export function isRefusal(answer: Caller | Refusal): answer is Refusal {
  return 'status' in answer
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Headers of proxies: a sidecar connects from the loopback interface, too, for clients that are elsewhere. */
const FORWARDED =
  /^(forwarded|via|x-forwarded-.*|x-real-ip|x-envoy-.*|x-original-.*|x-client-ip|x-cluster-client-ip|x-forwarded|l5d-.*|fastly-client-ip|true-client-ip|cf-connecting-ip)$/

/**
 * Returns whether a request comes from a program of this machine. A sidecar of a service mesh connects from 127.0.0.6. A proxy of
 * this machine that adds no header looks the same: nginx, unless it is configured otherwise, can be known by its HTTP/1.0.
 */
function isLocal({ peer, headers, httpVersion }: Asking): boolean {
  const isLoopback = peer === '127.0.0.1' || peer === '::1' || peer === '::ffff:127.0.0.1'
  return isLoopback && httpVersion !== '1.0' && !Object.keys(headers).some((name) => FORWARDED.test(name))
}

function isLoopbackName(name: string): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\])$/i.test(name)
}

function withoutPort(host: string): string {
  return host.replace(/:\d{1,5}$/, '')
}

/** URLs are stored in histories and logs. */
function tokenInUrl({ url }: Asking): Refusal | undefined {
  const query = url.slice(url.indexOf('?') + 1)
  if (query === url) return undefined
  const hasToken = [...new URLSearchParams(query).keys()].some((key) =>
    /(^|[-_]|access|auth|id)(token|apikey|api[-_]key|authorization|bearer|password|secret)$/i.test(key),
  )
  if (!hasToken) return undefined
  return {
    status: 400,
    reason: 'token-in-url',
    detail: 'no tokens in URLs: they are stored in logs. Send "Authorization: Bearer TOKEN"',
  }
}

function userOf(headers: IncomingHttpHeaders, { userHeader, groupsHeader, actGroups = [] }: ProxySettings) {
  const user = textOf(headers[userHeader.toLowerCase()]).trim()
  const name = actorOf('user', user)
  if (user === '' || name.length > MAX_ACTOR) return undefined
  const groups = groupsHeader === undefined ? '' : textOf(headers[groupsHeader.toLowerCase()])
  const mayAct = groups.split(',').some((group) => actGroups.includes(group.trim()))
  return { name, role: mayAct ? ('act' as const) : ('read' as const) }
}

/** Node joins repeated headers with commas, or returns a list. */
function textOf(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(',') : (value ?? '')
}

function rangesOf(trust: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of trust) {
    const [address = '', bits] = range.split('/')
    if (bits === undefined) list.addAddress(address, familyOf(address))
    else list.addSubnet(address, Number(bits), familyOf(address))
  }
  return list
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}
