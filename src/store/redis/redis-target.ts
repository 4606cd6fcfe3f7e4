import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import type { TlsOptions } from '../../sink/index.ts'

/** How a Redis is reached: by its address, through Sentinels, or as the node of a Redis Cluster that has our slot. */
export interface RedisTarget {
  /** redis://, rediss:// or unix:///path. */
  url?: string | undefined
  sentinel?: SentinelTarget | undefined
  cluster?: ClusterTarget | undefined
  username?: string | undefined
  password?: string | undefined
  tls?: true | TlsOptions | undefined
}

export interface SentinelTarget {
  /** What the Sentinels call the master. */
  name: string
  /** host:port */
  nodes: readonly string[]
  /** User of the Sentinels themselves. */
  username?: string | undefined
  password?: string | undefined
  tls?: true | TlsOptions | undefined
}

export interface ClusterTarget {
  /** host:port of some nodes; the others are learned from them. */
  nodes: readonly string[]
  /** A key, or its hash tag: its slot is the one that is wanted. */
  key: string
}

/** The part of a configuration with the connection to Redis. */
export interface RedisSettings extends Omit<RedisTarget, 'cluster'> {
  cluster?: { nodes: readonly string[] } | undefined
  /** The part of its memory that this cluster may use, above 0 and up to 1. */
  share?: number | undefined
}

/** Undefined where the configuration names none: then there is a private one. */
export function targetOf(settings: RedisSettings, key: string): RedisTarget | undefined {
  const { cluster, share: _, ...rest } = settings
  if (cluster) return { ...rest, cluster: { ...cluster, key } }
  return rest.url === undefined && rest.sentinel === undefined ? undefined : rest
}

/** Returns what must not change while a process runs, for comparison: everything but passwords and certificates. */
export function placeOf({ url, sentinel, cluster }: RedisSettings): unknown {
  const parsed = url === undefined || socketPath(url) !== undefined ? url : new URL(url)
  return {
    url: typeof parsed === 'object' ? [parsed.protocol, parsed.host, parsed.pathname] : parsed,
    sentinel: sentinel && [sentinel.name, sentinel.nodes],
    cluster: cluster?.nodes,
  }
}

/**
 * Takes over passwords and certificates that were exchanged: connections use them when they connect again. Those of another address,
 * database or protocol are not for this server: they wait for the restart.
 */
export function renewCredentials(target: RedisTarget, fresh: RedisSettings): void {
  const { url, username, password, tls, sentinel } = fresh
  if (!isDeepStrictEqual(placeOf(fresh), placeOf(target))) return
  Object.assign(target, { username, password, tls })
  if (url !== undefined) target.url = url
  if (!sentinel || !target.sentinel) return
  const { username: user, password: word, tls: secure } = sentinel
  Object.assign(target.sentinel, { username: user, password: word, tls: secure })
}

/**
 * The same for a file that is not in use, as one with an error elsewhere: takes over other values of what is in use. Half an edit
 * neither adds a user, a password or a certificate nor takes one away.
 */
export function rotateCredentials(target: RedisTarget, fresh: RedisSettings): void {
  if (isDeepStrictEqual(credentialNames(fresh), credentialNames(target))) renewCredentials(target, fresh)
}

/** Returns which users, passwords and certificates there are, without their values. */
function credentialNames({ url, sentinel, ...redis }: RedisSettings): unknown {
  const { username, password } = new URL(url ?? 'redis:')
  return [namesIn({ username, password }), namesIn(redis), sentinel && namesIn(sentinel)]
}

function namesIn({ username, password, tls }: Pick<RedisTarget, 'username' | 'password' | 'tls'>): unknown {
  return [Boolean(username), Boolean(password), typeof tls === 'object' ? Object.keys(tls).toSorted() : tls]
}

/** Returns the address for messages, without user and password. */
export function addressOf(target: RedisTarget | string): string {
  const { url, sentinel, cluster } = typeof target === 'string' ? { url: target } : target
  if (sentinel) return `${sentinel.name} via sentinels ${sentinel.nodes.join(', ')}`
  if (cluster) return `cluster ${cluster.nodes.join(', ')}`
  if (url === undefined) return 'no address'
  return socketPath(url) ?? new URL(url).host
}

/** The path of unix:///path. */
export function socketPath(url: string): string | undefined {
  return url.startsWith('unix://') ? url.slice('unix://'.length) : undefined
}

export interface HostPort {
  host: string
  port: number
}

/** `host:port`, `[::1]:6379`; without a port the default. Undefined when it is neither. */
export function parseNode(text: string, defaultPort: number): HostPort | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/@[\]]+))(?::(\d{1,5}))?$/.exec(text)
  if (!match) return undefined
  const host = match[1] ?? (match[2] as string)
  const port = match[3] === undefined ? defaultPort : Number(match[3])
  return port >= 1 && port <= 65_535 ? { host, port } : undefined
}

export function showNode({ host, port }: HostPort): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** The message if a handshake gets no answer. */
export const NO_TLS = 'no answer to the TLS handshake'

/** Options for Node's TLS. `ca` replaces Node's certificate authorities. */
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
