import { isIP, isIPv4 } from 'node:net'
import type { CelFunctions, CelType } from './function.ts'
import { CelValueError, charge } from './meter.ts'

/** An exact Kubernetes quantity. */
class Quantity {
  /** The value in billionths. */
  readonly nanos: bigint

  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

const QUANTITY = 'kubernetes.Quantity'

const NANO = 1_000_000_000n
const SUFFIXES: Readonly<Record<string, bigint>> = {
  n: 1n,
  u: 1_000n,
  m: 1_000_000n,
  '': NANO,
  k: 10n ** 12n,
  M: 10n ** 15n,
  G: 10n ** 18n,
  T: 10n ** 21n,
  P: 10n ** 24n,
  E: 10n ** 27n,
  Ki: NANO * 2n ** 10n,
  Mi: NANO * 2n ** 20n,
  Gi: NANO * 2n ** 30n,
  Ti: NANO * 2n ** 40n,
  Pi: NANO * 2n ** 50n,
  Ei: NANO * 2n ** 60n,
}

/** `500m`, `1.5Gi`, `2e3`: see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/ */
const FORM = /^([+-]?)(\d{1,30})?(?:\.(\d{0,30}))?(?:(n|u|m|k|M|G|T|P|E|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?$/

/** Returns whether a text begins with a digit and is a quantity with a unit, such as "1Gi". */
export function hasQuantityUnit(text: string): boolean {
  return /^\d.*[A-Za-z]$/.test(text) && parseQuantity(text) !== undefined
}

export function isQuantity(text: string): boolean {
  return parseQuantity(text) !== undefined
}

function parseQuantity(text: string): Quantity | undefined {
  const found = text.length <= 70 ? FORM.exec(text) : null
  if (!found) return undefined
  const [, sign, whole = '', fraction = '', suffix = '', exponent = '0'] = found
  if (whole === '' && fraction === '') return undefined
  const scale = SUFFIXES[suffix] as bigint
  const power = Number(exponent) - fraction.length
  const digits = BigInt(whole + fraction) * scale
  // Finer than a billionth is rounded up, away from zero.
  const nanos = power >= 0 ? digits * 10n ** BigInt(power) : roundedUp(digits, 10n ** BigInt(-power))
  return new Quantity(sign === '-' ? -nanos : nanos)
}

function roundedUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by
}

function quantity(text: string): Quantity {
  const parsed = parseQuantity(text)
  if (!parsed) throw new CelValueError(`"${text.slice(0, 50)}" is not a quantity`)
  return parsed
}

function isInteger({ nanos }: Quantity): boolean {
  const whole = nanos / NANO
  return nanos % NANO === 0n && BigInt.asIntN(64, whole) === whole
}

function asInteger(it: Quantity): bigint {
  if (!isInteger(it)) throw new CelValueError('asInteger() of a quantity that is not an int')
  return it.nanos / NANO
}

function compare(a: Quantity, b: Quantity): bigint {
  return a.nanos < b.nanos ? -1n : a.nanos > b.nanos ? 1n : 0n
}

const quantityFunctions: CelFunctions = {
  [`quantity(string): ${QUANTITY}`]: quantity,
  'isQuantity(string): bool': isQuantity,
  [`${QUANTITY}.sign(): int`]: (it: Quantity) => compare(it, new Quantity(0n)),
  [`${QUANTITY}.isInteger(): bool`]: isInteger,
  [`${QUANTITY}.asInteger(): int`]: asInteger,
  [`${QUANTITY}.asApproximateFloat(): double`]: (it: Quantity) => Number(it.nanos) / 1e9,
  [`${QUANTITY}.add(${QUANTITY}): ${QUANTITY}`]: (a: Quantity, b: Quantity) =>
    new Quantity(a.nanos + b.nanos),
  [`${QUANTITY}.add(int): ${QUANTITY}`]: (a: Quantity, b: bigint) => new Quantity(a.nanos + b * NANO),
  [`${QUANTITY}.sub(${QUANTITY}): ${QUANTITY}`]: (a: Quantity, b: Quantity) =>
    new Quantity(a.nanos - b.nanos),
  [`${QUANTITY}.sub(int): ${QUANTITY}`]: (a: Quantity, b: bigint) => new Quantity(a.nanos - b * NANO),
  [`${QUANTITY}.isLessThan(${QUANTITY}): bool`]: (a: Quantity, b: Quantity) => a.nanos < b.nanos,
  [`${QUANTITY}.isGreaterThan(${QUANTITY}): bool`]: (a: Quantity, b: Quantity) => a.nanos > b.nanos,
  [`${QUANTITY}.compareTo(${QUANTITY}): int`]: compare,
}

const KUBERNETES_URL = 'kubernetes.URL'

/** Absolute paths are parsed with this scheme. */
const PATH_ONLY = 'path://'
const MAX_LENGTH = 8_192

function parseUrl(text: string): URL | undefined {
  charge(40 + text.length / 8)
  if (text.length > MAX_LENGTH || /\s/.test(text)) return undefined
  if (/^\/(?!\/)/.test(text)) return URL.parse(PATH_ONLY + text) ?? undefined
  return /^[A-Za-z][\w+.-]*:/.test(text) ? (URL.parse(text) ?? undefined) : undefined
}

function url(text: string): URL {
  const parsed = parseUrl(text)
  if (!parsed) throw new CelValueError(`"${text.slice(0, 80)}" is not an absolute URL or path`)
  return parsed
}

function queryOf({ searchParams }: URL): Map<string, string[]> {
  const query = new Map<string, string[]>()
  for (const [key, value] of searchParams) query.set(key, [...(query.get(key) ?? []), value])
  return query
}

const urlFunctions: CelFunctions = {
  'isURL(string): bool': (text: string) => parseUrl(text) !== undefined,
  [`url(string): ${KUBERNETES_URL}`]: url,
  [`${KUBERNETES_URL}.getScheme(): string`]: (it: URL) =>
    it.protocol === 'path:' ? '' : it.protocol.slice(0, -1),
  [`${KUBERNETES_URL}.getHost(): string`]: (it: URL) => it.host,
  [`${KUBERNETES_URL}.getHostname(): string`]: (it: URL) => it.hostname.replace(/^\[|\]$/g, ''),
  [`${KUBERNETES_URL}.getPort(): string`]: (it: URL) => it.port,
  [`${KUBERNETES_URL}.getEscapedPath(): string`]: (it: URL) => it.pathname,
  [`${KUBERNETES_URL}.getQuery(): map<string, list<string>>`]: queryOf,
}

/** An IP address as a number. */
class Address {
  readonly value: bigint
  readonly family: 4 | 6

  constructor(value: bigint, family: 4 | 6) {
    this.value = value
    this.family = family
  }
}

/** A range of addresses. */
class Range {
  readonly address: Address
  readonly bits: number

  constructor(address: Address, bits: number) {
    this.address = address
    this.bits = bits
  }
}

const IP = 'net.IP'
const CIDR = 'net.CIDR'
/** Like Kubernetes: no zone, no leading zeros, no IPv4 within IPv6. */
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

export function isAddress(text: string): boolean {
  return parseAddress(text) !== undefined
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

export function isRange(text: string): boolean {
  return parseRange(text) !== undefined
}

function widthOf({ family }: Address): number {
  return family === 4 ? 32 : 128
}

/** Writes an address by RFC 5952. */
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

const addressFunctions: CelFunctions = {
  'isIP(string): bool': isAddress,
  [`ip(string): ${IP}`]: address,
  [`string(${IP}): string`]: addressText,
  [`${IP}.family(): int`]: (it: Address) => BigInt(it.family),
  [`${IP}.isUnspecified(): bool`]: (it: Address) => it.value === 0n,
  [`${IP}.isLoopback(): bool`]: isIn('loopback'),
  [`${IP}.isLinkLocalUnicast(): bool`]: isIn('linkLocalUnicast'),
  [`${IP}.isLinkLocalMulticast(): bool`]: isIn('linkLocalMulticast'),
  [`${IP}.isGlobalUnicast(): bool`]: isGlobalUnicast,
  'isCIDR(string): bool': isRange,
  [`cidr(string): ${CIDR}`]: range,
  [`string(${CIDR}): string`]: (it: Range) => `${addressText(it.address)}/${it.bits}`,
  [`${CIDR}.containsIP(${IP}): bool`]: containsAddress,
  [`${CIDR}.containsIP(string): bool`]: (it: Range, text: string) => containsAddress(it, address(text)),
  [`${CIDR}.containsCIDR(${CIDR}): bool`]: containsRange,
  [`${CIDR}.containsCIDR(string): bool`]: (it: Range, text: string) => containsRange(it, range(text)),
  [`${CIDR}.ip(): ${IP}`]: (it: Range) => it.address,
  [`${CIDR}.masked(): ${CIDR}`]: masked,
  [`${CIDR}.prefixLength(): int`]: (it: Range) => BigInt(it.bits),
}

export const kubernetesTypes: readonly CelType[] = [
  { name: QUANTITY, ctor: Quantity, equalBy: (it: Quantity) => it.nanos },
  { name: KUBERNETES_URL, ctor: URL, equalBy: (it: URL) => it.href },
  { name: IP, ctor: Address, equalBy: addressText },
  { name: CIDR, ctor: Range, equalBy: (it: Range) => `${addressText(it.address)}/${it.bits}` },
]

/** Functions of Kubernetes' CEL: quantities, URLs, IP addresses. */
export const kubernetesFunctions: CelFunctions = {
  ...quantityFunctions,
  ...urlFunctions,
  ...addressFunctions,
}
