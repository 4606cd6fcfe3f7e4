import { type Compiled, compiled, type Fault, faulty, under } from './fault.ts'
import { listOf, type Patterns } from './schema.ts'

/** Tests how old something is, in milliseconds; undefined when nobody knows, which passes nothing. */
export type AgeTest = (ageMs: number | undefined) => boolean

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const EXAMPLE = 'write "<5m" for younger than five minutes, ">=1h" for an hour or older'

interface Bound {
  operator: '<' | '<=' | '>' | '>='
  ms: number
}

/** Compiles `age`: `<5m`, `>=1h`; of a list all must hold. */
export function compileAge(wanted: Patterns): Compiled<AgeTest> {
  const faults: Fault[] = []
  const bounds: Bound[] = []
  for (const [index, text] of listOf(wanted).entries()) {
    const result = parseBound(text)
    if (result.ok) bounds.push(result.value)
    else faults.push(...under(typeof wanted === 'string' ? [] : [index], result.faults))
  }
  if (faults.length > 0) return { ok: false, faults }
  if (!isPossible(bounds))
    return faulty('matches nothing: all of a list must hold, and nothing is of all these ages')
  return compiled((ageMs) => ageMs !== undefined && bounds.every((bound) => holds(bound, ageMs)))
}

function parseBound(text: string): Compiled<Bound> {
  const [, operator = '', number = '', rest = ''] = /^\s*(<=?|>=?|)\s*(\d{0,9})\s*(.*)$/s.exec(text) ?? []
  const unit = rest.trimEnd()
  const fault = (message: string, hint: string, at = 0) =>
    faulty(message, { offset: at, length: Math.max(text.length - at, 1), hint })
  if (operator === '' && number !== '' && unit in UNITS)
    return fault(
      `"${text}" does not say younger or older`,
      `write "<${number}${unit}" (younger) or ">=${number}${unit}" (older)`,
    )
  if (operator === '') return fault(`"${text}" is no age`, EXAMPLE)
  if (number === '') return fault(`"${text}" has no number`, EXAMPLE, operator.length)
  if (unit === '') return fault(`"${text}" needs a unit`, `write "${operator}${number}m", or s, h or d`)
  const factor = Object.hasOwn(UNITS, unit) ? UNITS[unit as keyof typeof UNITS] : undefined
  if (factor === undefined)
    return fault(
      `"${unit}" is no unit of time`,
      `there are s, m, h and d: write "${operator}${number}${nearestUnit(unit)}"`,
      text.lastIndexOf(unit),
    )
  return compiled({ operator: operator as Bound['operator'], ms: Number(number) * factor })
}

function nearestUnit(unit: string): string {
  const first = unit[0]?.toLowerCase() ?? ''
  return /^ms|^milli/i.test(unit) ? 'ms' : /[smhd]/.test(first) ? first : 'm'
}

function holds({ operator, ms }: Bound, ageMs: number): boolean {
  if (operator === '<') return ageMs < ms
  if (operator === '<=') return ageMs <= ms
  return operator === '>' ? ageMs > ms : ageMs >= ms
}

/** Is there a whole number of milliseconds that passes all? Ages of less than none are none. */
function isPossible(bounds: readonly Bound[]): boolean {
  const least = Math.max(
    0,
    ...bounds.map(({ operator, ms }) => (operator === '>' ? ms + 1 : operator === '>=' ? ms : 0)),
  )
  return bounds.every((bound) => !bound.operator.startsWith('<') || holds(bound, least))
}
