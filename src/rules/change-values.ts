import { writtenAs } from '../sink/duration.ts'
import { type Compiled, compiled, type Fault, faulty, under } from './fault.ts'
import { compilePatterns, listHint, listOf, type Patterns, type Test } from './pattern.ts'

export const changeTypes = ['ADDED', 'MODIFIED', 'DELETED'] as const
const eventTypes = ['Normal', 'Warning'] as const

/** The tests of `type`: for the type of the change, and for that of the Event. */
interface TypeTests {
  change?: Test
  event?: Test
}

/**
 * Compiles `type`. Types of changes and of Events do not overlap, and both must match: `[ADDED, Warning]` is a new Warning,
 * `[ADDED, DELETED]` is either.
 */
export function compileTypes(patterns: Patterns): Compiled<TypeTests> {
  const types = listOf(patterns)
  const faults = types.flatMap((type, index) => typeFaults(type, typeof patterns === 'string' ? [] : [index]))
  if (faults.length > 0) return { ok: false, faults }
  const change = only(types, changeTypes)
  const event = only(types, eventTypes)
  if (!change.ok) return change
  if (!event.ok) return event
  return compiled({
    ...(change.value && { change: change.value }),
    ...(event.value && { event: event.value }),
  })
}

/** Whether `type` passes deletions, and no other change. */
export function areDeletions(type: Patterns | undefined): boolean {
  const compiled = type === undefined ? undefined : compileTypes(type)
  const test = compiled?.ok ? compiled.value.change : undefined
  return changeTypes.filter((it) => test?.(it) ?? true).join() === 'DELETED'
}

/** Names of the changes in other tools and audit logs. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ADDED: ['add', 'create', 'created', 'new'],
    MODIFIED: ['update', 'updated', 'modify', 'change', 'changed', 'patch'],
    DELETED: ['delete', 'remove', 'removed'],
    Warning: ['warn', 'error', 'warnings'],
  }).flatMap(([type, names]) => names.map((name) => [name, type] as const)),
)

function typeFaults(word: string, path: Fault['path']): Fault[] {
  const bare = bareOf(word)
  const known = [...changeTypes, ...eventTypes]
  if (known.some((it) => it === bare)) return []
  const lower = bare.toLowerCase()
  const similar = known.find((it) => it.toLowerCase() === lower) ?? ELSEWHERE.get(lower)
  const offset = word.length - bare.length
  if (bare.includes(',')) return faulty(`"${bare}" is not a type`, { path, hint: listHint(word) }).faults
  const sort = changeTypes.some((it) => it === similar) ? changeTypes : eventTypes
  const hint = similar
    ? `write ${similar} (there are ${sort.slice(0, -1).join(', ')} and ${sort.at(-1)})`
    : `there are ${known.join(', ')}, each with "!" for not`
  return faulty(`"${bare}" is not a type`, { path, hint, offset, length: Math.max(bare.length, 1) }).faults
}

function only(types: readonly string[], known: readonly string[]): Compiled<Test | undefined> {
  const chosen = types.filter((type) => known.includes(bareOf(type)))
  if (chosen.length === 0) return compiled(undefined)
  const test = compilePatterns(chosen)
  if (!test.ok || known.some((word) => test.value(word))) return test
  return faulty('matches nothing: all of its types are excluded with "!"')
}

function bareOf(word: string): string {
  return word.startsWith('!') ? word.slice(1) : word
}

/** Tests an age in milliseconds; an unknown age (undefined) passes nothing. */
type AgeTest = (ageMs: number | undefined) => boolean

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const EXAMPLE = 'write "<5m" for younger than five minutes, ">=1h" for an hour or older'

interface Bound {
  operator: '<' | '<=' | '>' | '>='
  ms: number
}

/** Compiles `age`, such as `<5m` or `>=1h`. All conditions of a list must hold. */
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
      `"${text}" has no < or >`,
      `write "<${number}${unit}" (younger) or ">=${number}${unit}" (older)`,
    )
  if (operator === '') return fault(`"${text}" is not an age`, EXAMPLE)
  if (number === '') return fault(`"${text}" has no number`, EXAMPLE, operator.length)
  if (unit === '') return fault(`"${text}" needs a unit`, `write "${operator}${number}m", or s, h or d`)
  const factor = Object.hasOwn(UNITS, unit) ? UNITS[unit as keyof typeof UNITS] : undefined
  if (factor === undefined) {
    const written = writtenAs(number + unit, 1, Number.MAX_SAFE_INTEGER) ?? `${number}${nearestUnit(unit)}`
    const hint = `there are s, m, h and d: write "${operator}${written}"`
    return fault(`"${unit}" is not a unit of time`, hint, text.lastIndexOf(unit))
  }
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

/** Whether an age passes all bounds; ages are whole milliseconds, and not negative. */
function isPossible(bounds: readonly Bound[]): boolean {
  const least = Math.max(
    0,
    ...bounds.map(({ operator, ms }) => (operator === '>' ? ms + 1 : operator === '>=' ? ms : 0)),
  )
  return bounds.every((bound) => !bound.operator.startsWith('<') || holds(bound, least))
}
