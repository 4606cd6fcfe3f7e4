import { RE2JS } from 're2js'
import type { ImportedRule } from './imported.ts'

/** A condition on one property of an Event, as a regular expression that may match anywhere in it (RE2). */
export interface Predicate {
  key: keyof typeof IN_CEL | `regarding.labels.${string}`
  expression: string
  /** True where it must not match. */
  not?: boolean
}

/** At least so many occurrences. */
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
  component: 'event.reportingComponent',
  host: 'object.?source.?host.orValue("")',
} as const

const IN_WHEN = ['namespace', 'type', 'reason', 'message', 'regarding.kind']

/** Converts clauses to `when` where it has the keys, else to `if`. */
export function conditionsOf(clauses: readonly Clause[]): Pick<ImportedRule, 'when' | 'if'> {
  const when = new Map<string, string | string[]>()
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
  return {
    ...(when.size > 0 && { when: nested(when) }),
    ...(cel.length > 0 && { if: [...new Set(cel)].join(' && ') }),
  }
}

/** Returns the pattern for a key of `when`; undefined if there is no such key or pattern. */
function patternOf({ key, expression, not }: Predicate): string | string[] | undefined {
  if (!IN_WHEN.includes(key) && !key.startsWith('regarding.labels.')) return undefined
  const bang = not ? '!' : ''
  // It matched every value of a label.
  if (expression === '') return `${bang}*`
  if (key === 'type') {
    const types = ['Normal', 'Warning'].filter((type) => matches(expression, type))
    return types.length === 1 ? `${bang}${types[0]}` : undefined
  }
  // Only a rule that is off has it.
  if (!isExpression(expression)) return `${bang}${expression}`
  const patterns = patternsOf(expression).map((it) => `${bang}${it}`)
  return patterns.length === 1 ? patterns[0] : patterns
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

function matches(expression: string, text: string): boolean {
  return RE2JS.compile(expression).matcher(text).find()
}

function celOf(it: Predicate | AtLeast): string {
  if ('count' in it) return it.not ? `event.count < ${it.count}` : `event.count >= ${it.count}`
  const { key, not, expression } = it
  const bang = not ? '!' : ''
  if (key.startsWith('regarding.labels.')) {
    const label = key.slice('regarding.labels.'.length)
    const labels = 'event.regarding.labels'
    return `${bang}(${text(label)} in ${labels} && ${labels}[${text(label)}].matches(${text(expression)}))`
  }
  return `${bang}${IN_CEL[key as keyof typeof IN_CEL]}.matches(${text(expression)})`
}

function text(value: string): string {
  return JSON.stringify(value)
}

/** `regarding.labels.team` → { regarding: { labels: { team } } } */
function nested(flat: ReadonlyMap<string, string | string[]>): Record<string, unknown> {
  const when: Record<string, unknown> = {}
  const regarding: Record<string, unknown> = {}
  const labels: Record<string, string | string[]> = {}
  for (const [key, pattern] of flat) {
    if (key.startsWith('regarding.labels.')) labels[key.slice('regarding.labels.'.length)] = pattern
    else if (key.startsWith('regarding.')) regarding[key.slice('regarding.'.length)] = pattern
    else when[key] = pattern
  }
  if (Object.keys(labels).length > 0) regarding['labels'] = labels
  return { ...when, ...(Object.keys(regarding).length > 0 && { regarding }) }
}

/**
 * Converts an expression that matches anywhere in a text: to names for `^web$` and `^(a|b)$`, to a glob for a prefix (`^web-`), else to
 * the expression between slashes.
 */
export function patternsOf(expression: string): string[] {
  const [, names] = /^\^(?:\((?:\?:)?([\w|-]+)\)|[\w-]+)\$$/.exec(expression) ?? []
  if (names !== undefined && !names.split('|').includes('')) return names.split('|')
  if (/^\^[\w-]+\$$/.test(expression)) return [expression.slice(1, -1)]
  const [, prefix] = /^\^([\w-]+)(?:\.\*\$?)?$/.exec(expression) ?? []
  return [prefix === undefined ? `/${expression.replaceAll(/(?<!\\)\//g, '\\/')}/` : `${prefix}*`]
}
