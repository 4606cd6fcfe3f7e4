import { lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** Also as addresses of IPv6 that stand for those of IPv4: NAT64 and 6to4. */
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
