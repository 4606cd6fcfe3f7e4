import { type CelFunction, type CelType, CelValueError } from './function.ts'

/** A quantity of Kubernetes, exact: `units` × 10^-9. */
export class Quantity {
  /** In billionths. */
  readonly nanos: bigint

  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

const TYPE = 'kubernetes.Quantity'
export const quantityType: CelType = { name: TYPE, ctor: Quantity, equalBy: (it: Quantity) => it.nanos }

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

/** Does a text have a unit of quantities, such as "1Gi"? */
export function hasQuantityUnit(text: string): boolean {
  return /^\d.*[A-Za-z]$/.test(text) && parseQuantity(text) !== undefined
}

/** Undefined when it is none. */
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
  if (!parsed) throw new CelValueError(`"${text.slice(0, 50)}" is no quantity`)
  return parsed
}

function isInteger({ nanos }: Quantity): boolean {
  const whole = nanos / NANO
  return nanos % NANO === 0n && BigInt.asIntN(64, whole) === whole
}

function asInteger(it: Quantity): bigint {
  if (!isInteger(it)) throw new CelValueError('asInteger() of a quantity that is no int')
  return it.nanos / NANO
}

function compare(a: Quantity, b: Quantity): bigint {
  return a.nanos < b.nanos ? -1n : a.nanos > b.nanos ? 1n : 0n
}

export const quantityFunctions: readonly CelFunction[] = [
  { signature: `quantity(string): ${TYPE}`, call: quantity },
  { signature: 'isQuantity(string): bool', call: (text: string) => parseQuantity(text) !== undefined },
  { signature: `${TYPE}.sign(): int`, call: (it: Quantity) => compare(it, new Quantity(0n)) },
  { signature: `${TYPE}.isInteger(): bool`, call: isInteger },
  { signature: `${TYPE}.asInteger(): int`, call: asInteger },
  { signature: `${TYPE}.asApproximateFloat(): double`, call: (it: Quantity) => Number(it.nanos) / 1e9 },
  {
    signature: `${TYPE}.add(${TYPE}): ${TYPE}`,
    call: (a: Quantity, b: Quantity) => new Quantity(a.nanos + b.nanos),
  },
  {
    signature: `${TYPE}.add(int): ${TYPE}`,
    call: (a: Quantity, b: bigint) => new Quantity(a.nanos + b * NANO),
  },
  {
    signature: `${TYPE}.sub(${TYPE}): ${TYPE}`,
    call: (a: Quantity, b: Quantity) => new Quantity(a.nanos - b.nanos),
  },
  {
    signature: `${TYPE}.sub(int): ${TYPE}`,
    call: (a: Quantity, b: bigint) => new Quantity(a.nanos - b * NANO),
  },
  { signature: `${TYPE}.isLessThan(${TYPE}): bool`, call: (a: Quantity, b: Quantity) => a.nanos < b.nanos },
  {
    signature: `${TYPE}.isGreaterThan(${TYPE}): bool`,
    call: (a: Quantity, b: Quantity) => a.nanos > b.nanos,
  },
  { signature: `${TYPE}.compareTo(${TYPE}): int`, call: compare },
]
