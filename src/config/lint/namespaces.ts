import { isJoined, listHint } from '../rules/comma.ts'
import type { Fault } from '../rules/fault.ts'
import { expressionHint } from '../rules/likely-expression.ts'
import { compilePatterns, type Pattern, parsePatterns } from '../rules/pattern.ts'
import { listOf, type Patterns } from '../rules/schema.ts'

/** Names that no namespace can have. */
export function namespaceFaults(patterns: Patterns): Fault[] {
  const parsed = parsePatterns(patterns)
  if (!parsed.ok) return []
  return listOf(patterns).flatMap((written, index): Fault[] => {
    const pattern = parsed.value[index] as Pattern
    const { form, text } = pattern
    const path = typeof patterns === 'string' ? [] : [index]
    if (isJoined(pattern))
      return [{ path, message: `"${text}" is no namespace: those have no commas`, hint: listHint(written) }]
    if (form === 'regex' || text === '' || FORMS[form].test(text)) return []
    const verb = form === 'glob' ? 'means no namespace' : 'cannot be a namespace'
    const message = `"${text}" ${verb}: those have lower-case letters, digits and "-"`
    const hint = namespaceHint(written, text)
    return [{ path, message, ...(hint !== undefined && { hint }) }]
  })
}

const FORMS = { literal: /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, glob: /^[-a-z0-9*?]+$/ } as const

function namespaceHint(written: string, text: string): string | undefined {
  const expression = expressionHint(written)
  if (expression !== undefined) return expression
  const variable = /^\$\{?(?:var[.:])?([A-Za-z][\w.-]*)\}?$/.exec(written)?.[1]
  if (variable !== undefined) return `write "\${var:${variable}}"`
  if (/\.[*+]/.test(written)) return `write ${written.replaceAll(/\.[*+]/g, '*')}, or an expression: /…/`
  const lower = text.toLowerCase()
  return lower === text ? undefined : `did you mean "${lower}"?`
}

/** Can a namespace pass both? True when in doubt; undefined passes all. */
export function namespacesMeet(a: Patterns | undefined, b: Patterns | undefined): boolean {
  const left = a === undefined ? undefined : sieveOf(a)
  const right = b === undefined ? undefined : sieveOf(b)
  if (!left || !right) return true
  if (left.literals) return left.literals.some((text) => left.test(text) && right.test(text))
  if (right.literals) return right.literals.some((text) => left.test(text) && right.test(text))
  return true
}

/** Do these patterns let objects without a namespace pass? */
export function passesNoNamespace(patterns: Patterns | undefined): boolean {
  if (patterns === undefined) return true
  const compiled = compilePatterns(patterns)
  return !compiled.ok || compiled.value(undefined)
}

interface Sieve {
  test(text: string): boolean
  /** All that can pass, when only literals can. */
  literals: readonly string[] | undefined
}

function sieveOf(patterns: Patterns): Sieve | undefined {
  const parsed = parsePatterns(patterns)
  const compiled = compilePatterns(patterns)
  if (!parsed.ok || !compiled.ok) return undefined
  const positive = parsed.value.filter(({ negated }) => !negated)
  const areLiterals = positive.length > 0 && positive.every(({ form }) => form === 'literal')
  return { test: compiled.value, literals: areLiterals ? positive.map(({ text }) => text) : undefined }
}
