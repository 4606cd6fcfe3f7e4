const DECIMAL = ['', 'k', 'M', 'G', 'T', 'P', 'E']
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const SMALL: Readonly<Record<string, number>> = { n: 1e-9, u: 1e-6, m: 1e-3 }

/**
 * A Kubernetes quantity for people: `128974848` → `123Mi`, `1500m` → `1.5`, `1500M` → `1.5G`. Other text stays as it is.
 */
export function quantityOf(text: string): string {
  const [, digits, suffix = ''] =
    /^([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)([numkMGTPE]|[KMGTPE]i)?$/.exec(text) ?? []
  if (digits === undefined) return text
  const number = Number(digits)
  if (!Number.isFinite(number)) return text
  const small = SMALL[suffix]
  if (small !== undefined) return rounded(number * small, 3)
  const isDecimal = suffix !== '' && DECIMAL.includes(suffix)
  const [units, base] = isDecimal ? [DECIMAL, 1000] : [BINARY, 1024]
  const value = number * base ** Math.max(units.indexOf(suffix), 0)
  const power = Math.min(
    Math.max(Math.floor(Math.log(Math.abs(value)) / Math.log(base)), 0),
    units.length - 1,
  )
  if (!Number.isFinite(power)) return '0'
  return power === 0 ? rounded(value, 3) : `${rounded(value / base ** power, 1)}${units[power]}`
}

function rounded(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)))
}
