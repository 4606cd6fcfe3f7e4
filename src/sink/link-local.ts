import { lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

const FORBIDDEN = new BlockList()
FORBIDDEN.addSubnet('169.254.0.0', 16, 'ipv4')
FORBIDDEN.addSubnet('fe80::', 10, 'ipv6')
FORBIDDEN.addAddress('fd00:ec2::254', 'ipv6')

/** Link-local, or where clouds answer with the machine's credentials. `host` is as in a URL. */
export function isForbiddenHost(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '')
  return bare === 'metadata.google.internal' || isForbiddenAddress(bare)
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
