import { isIP, isIPv4 } from 'node:net'
import { type CelFunction, type CelType, CelValueError } from './function.ts'

/** An IP address as a number. */
export class Address {
  readonly value: bigint
  readonly family: 4 | 6

  constructor(value: bigint, family: 4 | 6) {
    this.value = value
    this.family = family
  }
}

/** A range of addresses. */
export class Range {
  readonly address: Address
  readonly bits: number

  constructor(address: Address, bits: number) {
    this.address = address
    this.bits = bits
  }
}

const IP = 'net.IP'
const CIDR = 'net.CIDR'
export const netTypes: readonly CelType[] = [
  { name: IP, ctor: Address, equalBy: addressText },
  { name: CIDR, ctor: Range, equalBy: (it: Range) => `${addressText(it.address)}/${it.bits}` },
]

/** No zone, no leading zeros, no IPv4 inside of IPv6: as Kubernetes takes them. */
function parseAddress(text: string): Address | undefined {
  if (text.length > 45 || isIP(text) === 0 || text.includes('%')) return undefined
  if (isIPv4(text)) {
    const value = text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n)
    return new Address(value, 4)
  }
  if (text.includes('.')) return undefined
  const [head = '', tail] = text.split('::')
  const first = groupsOf(head)
  const last = groupsOf(tail ?? '')
  const zeros = tail === undefined ? [] : Array<string>(8 - first.length - last.length).fill('0')
  const value = [...first, ...zeros, ...last].reduce((sum, part) => sum * 65_536n + BigInt(`0x${part}`), 0n)
  return new Address(value, 6)
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':')
}

function parseRange(text: string): Range | undefined {
  const [, host = '', length = ''] = /^([^/]{1,45})\/(0|[1-9]\d{0,2})$/.exec(text) ?? []
  const address = host === '' ? undefined : parseAddress(host)
  const bits = Number(length)
  return address && bits <= widthOf(address) ? new Range(address, bits) : undefined
}

function widthOf({ family }: Address): number {
  return family === 4 ? 32 : 128
}

/** RFC 5952. */
function addressText({ value, family }: Address): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.')
  const groups = Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16))
  let best = { start: 0, length: 1 }
  for (let start = 0; start < 8; start++) {
    let length = 0
    while (groups[start + length] === '0') length++
    if (length > best.length) best = { start, length }
  }
  if (best.length < 2) return groups.join(':')
  return `${groups.slice(0, best.start).join(':')}::${groups.slice(best.start + best.length).join(':')}`
}

function masked({ address, bits }: Range): Range {
  const shift = BigInt(widthOf(address) - bits)
  return new Range(new Address((address.value >> shift) << shift, address.family), bits)
}

function containsAddress(range: Range, address: Address): boolean {
  const shift = BigInt(widthOf(range.address) - range.bits)
  return address.family === range.address.family && address.value >> shift === range.address.value >> shift
}

function containsRange(outer: Range, inner: Range): boolean {
  return outer.bits <= inner.bits && containsAddress(outer, inner.address)
}

const RANGES = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linkLocalUnicast: ['169.254.0.0/16', 'fe80::/10'],
  linkLocalMulticast: ['224.0.0.0/24', 'ff02::/16'],
  multicast: ['224.0.0.0/4', 'ff00::/8'],
  others: ['0.0.0.0/32', '255.255.255.255/32', '::/128'],
}

function isIn(list: keyof typeof RANGES): (it: Address) => boolean {
  let ranges: readonly Range[] | undefined
  return (it) => {
    ranges ??= RANGES[list].map((text) => parseRange(text) as Range)
    return ranges.some((range) => containsAddress(range, it))
  }
}

const SPECIAL = (['loopback', 'linkLocalUnicast', 'multicast', 'others'] as const).map(isIn)

function isGlobalUnicast(it: Address): boolean {
  return !SPECIAL.some((test) => test(it))
}

function known<T>(parsed: T | undefined, text: string, what: string): T {
  if (parsed === undefined) throw new CelValueError(`"${text.slice(0, 50)}" is no ${what}`)
  return parsed
}

const address = (text: string) => known(parseAddress(text), text, 'IP address')
const range = (text: string) => known(parseRange(text), text, 'CIDR')

export const netFunctions: readonly CelFunction[] = [
  { signature: 'isIP(string): bool', call: (text: string) => parseAddress(text) !== undefined },
  { signature: `ip(string): ${IP}`, call: address },
  { signature: `string(${IP}): string`, call: addressText },
  { signature: `${IP}.family(): int`, call: (it: Address) => BigInt(it.family) },
  { signature: `${IP}.isUnspecified(): bool`, call: (it: Address) => it.value === 0n },
  { signature: `${IP}.isLoopback(): bool`, call: isIn('loopback') },
  { signature: `${IP}.isLinkLocalUnicast(): bool`, call: isIn('linkLocalUnicast') },
  { signature: `${IP}.isLinkLocalMulticast(): bool`, call: isIn('linkLocalMulticast') },
  { signature: `${IP}.isGlobalUnicast(): bool`, call: isGlobalUnicast },
  { signature: 'isCIDR(string): bool', call: (text: string) => parseRange(text) !== undefined },
  { signature: `cidr(string): ${CIDR}`, call: range },
  { signature: `string(${CIDR}): string`, call: (it: Range) => `${addressText(it.address)}/${it.bits}` },
  { signature: `${CIDR}.containsIP(${IP}): bool`, call: containsAddress },
  {
    signature: `${CIDR}.containsIP(string): bool`,
    call: (it: Range, text: string) => containsAddress(it, address(text)),
  },
  { signature: `${CIDR}.containsCIDR(${CIDR}): bool`, call: containsRange },
  {
    signature: `${CIDR}.containsCIDR(string): bool`,
    call: (it: Range, text: string) => containsRange(it, range(text)),
  },
  { signature: `${CIDR}.ip(): ${IP}`, call: (it: Range) => it.address },
  { signature: `${CIDR}.masked(): ${CIDR}`, call: masked },
  { signature: `${CIDR}.prefixLength(): int`, call: (it: Range) => BigInt(it.bits) },
]
