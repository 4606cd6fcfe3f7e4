import { lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** A configured proxy, none, or (undefined) the environment's. */
export type ProxySetting = URL | false | undefined

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The proxy for a URL. The environment's HTTPS_PROXY, HTTP_PROXY and NO_PROXY count, in lower case first; never for this
 * machine itself. Throws when the environment names something that is no http or https proxy.
 */
export function proxyFor(url: URL, setting: ProxySetting, env: Environment): URL | undefined {
  if (setting === false) return undefined
  if (setting) return setting
  const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const value = env[name.toLowerCase()] || env[name]
  if (!value || isExempt(url, env['no_proxy'] || env['NO_PROXY'] || '')) return undefined
  const text = value.includes('://') ? value : `http://${value}`
  const proxy = URL.parse(text)
  if (!proxy || !/^https?:$/.test(proxy.protocol))
    throw new Error(`${name} of the environment is no http:// or https:// URL`)
  return proxy
}

function isExempt(url: URL, noProxy: string): boolean {
  const host = hostOf(url)
  if (host === 'localhost' || host.endsWith('.localhost') || isLoopback(host)) return true
  return isListed(url, noProxy)
}

function hostOf({ hostname }: URL): string {
  return hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase()
}

/** Returns whether NO_PROXY contains this host. */
export function isListed(url: URL, noProxy: string): boolean {
  const host = hostOf(url)
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  return noProxy.split(/[\s,]+/).some((entry) => entry !== '' && covers(entry.toLowerCase(), host, port))
}

/** `*`, an address, a range `10.0.0.0/8`, a name with all that are under it, each with or without a port. */
function covers(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true
  const [, range, bits] = /^([\da-f.:]+)\/(\d{1,3})$/.exec(entry) ?? []
  if (range !== undefined) return isWithin(host, range, Number(bits))
  const [, bracketed, bracketedPort] = /^\[(.+)\](?::(\d+))?$/.exec(entry) ?? []
  if (bracketed !== undefined) return host === bracketed && (bracketedPort ?? port) === port
  if (isIP(entry)) return host === entry
  const [name = '', namePort = port] = entry.split(':')
  const suffix = name.replace(/^\*?\./, '').replace(/\.$/, '')
  const isItself = host === suffix && !name.startsWith('*')
  return namePort === port && suffix !== '' && (isItself || host.endsWith(`.${suffix}`))
}

function isWithin(host: string, range: string, bits: number): boolean {
  const family = isIP(range)
  if (family === 0 || family !== isIP(host) || bits > (family === 4 ? 32 : 128)) return false
  const type = family === 4 ? 'ipv4' : 'ipv6'
  const list = new BlockList()
  list.addSubnet(range, bits, type)
  return list.check(host, type)
}

function isLoopback(host: string): boolean {
  return isWithin(host, '127.0.0.0', 8) || host === '::1'
}

/** Includes IPv6 forms of IPv4 addresses: NAT64 and 6to4. */
const FORBIDDEN = new BlockList()
FORBIDDEN.addSubnet('169.254.0.0', 16, 'ipv4')
FORBIDDEN.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6')
FORBIDDEN.addSubnet('2002:a9fe::', 32, 'ipv6')
FORBIDDEN.addSubnet('fe80::', 10, 'ipv6')
for (const address of ['100.100.100.200', '168.63.129.16', '192.0.0.192'])
  FORBIDDEN.addAddress(address, 'ipv4')
for (const address of ['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254']) FORBIDDEN.addAddress(address, 'ipv6')

const FORBIDDEN_NAMES = ['metadata.google.internal', 'metadata.goog', 'instance-data.ec2.internal']

/** Link-local, or where clouds answer with the machine's credentials. `host` is as in a URL. */
export function isForbiddenHost(host: string): boolean {
  const bare = host
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase()
  return FORBIDDEN_NAMES.includes(bare) || isForbiddenAddress(bare)
}

function isForbiddenAddress(address: string): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
  const family = isIP(mapped)
  return family !== 0 && FORBIDDEN.check(mapped, family === 6 ? 'ipv6' : 'ipv4')
}

/** Checks the address, not the name: a name may point anywhere by the time it is used. */
export const guardedLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, options, (error, address, family) => {
    const addresses = Array.isArray(address) ? address.map((it) => it.address) : [address]
    const bad = error ? undefined : addresses.find((it) => isForbiddenAddress(it))
    if (bad === undefined) return callback(error, address as string, family)
    callback(Object.assign(new Error('link-local address'), { code: 'ELINKLOCAL' }), '', 0)
  })
}
