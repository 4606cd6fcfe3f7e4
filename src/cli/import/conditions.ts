import { RE2JS } from 're2js'
import { builtInKinds } from '../../rules/kind.ts'
import type { ImportedRule } from './imported.ts'

/** A condition on one property of an Event, as a regular expression that may match anywhere in it (RE2). */
export interface Predicate {
  key: keyof typeof IN_CEL | `regarding.${'labels' | 'annotations'}.${string}`
  expression: string
  /** True where it must not match. */
  not?: boolean
}

/** At least `count` occurrences. */
export interface AtLeast {
  count: number
  not?: boolean
}

/** All of them hold; or, of what was excluded, not all of them. */
export interface Clause {
  all: readonly (Predicate | AtLeast)[]
  not?: boolean
}

const IN_CEL = {
  namespace: 'event.namespace',
  type: 'event.eventType',
  reason: 'event.reason',
  message: 'event.message',
  'regarding.kind': 'event.regarding.kind',
  'regarding.apiVersion': 'event.regarding.apiVersion',
  component: 'object.?source.?component.orValue("")',
  host: 'object.?source.?host.orValue("")',
} as const

const IN_WHEN = /^(namespace|type|reason|message|regarding\.kind|regarding\.(labels|annotations)\..+)$/
/** Texts of several lines. */
const LINES = /^(message|regarding\.annotations\..+)$/
const METADATA = /^regarding\.(labels|annotations)\.(.+)$/

/** Converts clauses about Events to `when` where it has the keys, else to `if`. With `change`, only that change of an Event matches. */
export function conditionsOf(
  clauses: readonly Clause[],
  change?: 'ADDED',
): Pick<ImportedRule, 'when' | 'if'> {
  const when = new Map<string, string | string[]>([['kind', 'Event']])
  const cel: string[] = []
  for (const { all, not } of clauses) {
    const [only] = all
    if (not && all.length > 1) {
      cel.push(`!(${all.map(celOf).join(' && ')})`)
      continue
    }
    for (const it of not && only ? [{ ...only, not: !only.not }] : all) {
      const pattern = 'key' in it ? patternOf(it) : undefined
      if (pattern !== undefined && 'key' in it && !when.has(it.key)) when.set(it.key, pattern)
      else if (pattern === undefined || !('key' in it) || String(when.get(it.key)) !== String(pattern))
        cel.push(celOf(it))
    }
  }
  const { type } = Object.fromEntries(when)
  if (change) when.set('type', type === undefined ? change : [change, ...[type].flat()])
  return {
    when: nested(when),
    ...(cel.length > 0 && { if: [...new Set(cel)].join(' && ') }),
  }
}

/** True if a clause excludes objects by labels or annotations, which kubeherald reads of some kinds only. */
export function excludesByMetadata(clauses: readonly Clause[]): boolean {
  return clauses.some(({ all, not }) =>
    all.some((it) => 'key' in it && METADATA.test(it.key) && (not || it.not)),
  )
}

/** Returns the pattern for a key of `when`; undefined if there is no such key or pattern. */
function patternOf({ key, expression, not }: Predicate): string | string[] | undefined {
  if (!IN_WHEN.test(key)) return undefined
  const bang = not ? '!' : ''
  // It matched every value of a label.
  if (expression === '') return `${bang}*`
  // Only a rule that is disabled has it.
  if (!isExpression(expression)) return `${bang}${expression}`
  if (key === 'type') {
    const types = ['Normal', 'Warning'].filter((type) => finds(expression, type))
    return types.length === 1 ? `${bang}${types[0]}` : undefined
  }
  const found =
    key === 'regarding.kind' ? kindPatternsOf(expression) : patternsOf(expression, LINES.test(key))
  const patterns = found?.map((it) => `${bang}${it}`)
  return patterns?.length === 1 ? patterns[0] : patterns
}

/**
 * Returns patterns for `regarding.kind`, which also takes plurals with their group, short names and names in another case. So it gets names of
 * built-in kinds, or an expression whose alternatives begin with a capital letter, as no plural does; undefined for other expressions.
 */
function kindPatternsOf(expression: string): string[] | undefined {
  const names = expression.replaceAll(/\(\?:|[()^$]/g, '').split('|')
  if (!names.every((it) => /^[A-Z]\w*$/.test(it))) return undefined
  const patterns = patternsOf(expression)
  return patterns.every((it) => builtInKinds.some(({ kind }) => kind === it)) ? patterns : [`/${expression}/`]
}

/** Returns false for a text such as `*test*`, which matches nothing as an expression. */
export function isExpression(text: string): boolean {
  try {
    RE2JS.compile(text)
    return true
  } catch {
    return false
  }
}

/** Whether an expression matches somewhere in a text. */
export function finds(expression: string, text: string): boolean {
  return RE2JS.compile(expression).matcher(text).find()
}

function celOf(it: Predicate | AtLeast): string {
  // A new-style Event has no count, which was 0 there; `event.count` is 1 then, or that of its series.
  if ('count' in it) return `object.?count.orValue(0) ${it.not ? '<' : '>='} ${it.count}`
  const { key, not, expression } = it
  const bang = not ? '!' : ''
  const [, map, name] = METADATA.exec(key) ?? []
  if (map && name) {
    const values = `event.regarding.${map}`
    return `${bang}(${text(name)} in ${values} && ${values}[${text(name)}].matches(${text(expression)}))`
  }
  return `${bang}${IN_CEL[key as keyof typeof IN_CEL]}.matches(${text(expression)})`
}

function text(value: string): string {
  return JSON.stringify(value)
}

/** `regarding.labels.team` → { regarding: { labels: { team } } } */
function nested(flat: ReadonlyMap<string, string | string[]>): Record<string, unknown> {
  const when: Record<string, unknown> = {}
  for (const [key, pattern] of flat) {
    const [, map, name] = METADATA.exec(key) ?? []
    const steps = map && name ? ['regarding', map] : key.split('.').slice(0, -1)
    const holder = steps.reduce<Record<string, unknown>>((at, step) => {
      at[step] ??= {}
      return at[step] as Record<string, unknown>
    }, when)
    holder[name ?? key.split('.').at(-1) ?? key] = pattern
  }
  return when
}

/**
 * Converts an expression that matches anywhere in a text: to names for `^web$` and `^(a|b)$`, to a glob for a prefix (`^web-`), else to
 * the expression between slashes. `lines`: the text may have line breaks, which `.` does not match.
 */
export function patternsOf(expression: string, lines = false): string[] {
  const [, names] = /^\^(?:\((?:\?:)?([\w|-]+)\)|[\w-]+)\$$/.exec(expression) ?? []
  if (names !== undefined && !names.split('|').includes('')) return names.split('|')
  if (/^\^[\w-]+\$$/.test(expression)) return [expression.slice(1, -1)]
  const [, prefix, end] = /^\^([\w-]+)(?:\.\*(\$?))?$/.exec(expression) ?? []
  const isGlob = prefix !== undefined && !(lines && end === '$')
  return [!isGlob ? `/${expression.replaceAll(/(?<!\\)\//g, '\\/')}/` : `${prefix}*`]
}
