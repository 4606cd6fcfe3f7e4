import { BlockList, isIP } from 'node:net'

/** A proxy of one's own, none, or (undefined) what the environment says. */
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

/** Does NO_PROXY say that this host is reached without a proxy? */
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
