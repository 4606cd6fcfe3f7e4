import type { Fault } from '../../rules/fault.ts'
import {
  compilePatterns,
  expressionHint,
  isJoined,
  listHint,
  listOf,
  type Pattern,
  type Patterns,
  parsePatterns,
} from '../../rules/pattern.ts'

interface NamespaceFault extends Fault {
  /** The variable that was likely intended. */
  about?: string
}

/** Returns a fault for each pattern that is not a name of a namespace. */
export function namespaceFaults(patterns: Patterns): NamespaceFault[] {
  const parsed = parsePatterns(patterns)
  if (!parsed.ok) return []
  return listOf(patterns).flatMap((written, index): NamespaceFault[] => {
    const pattern = parsed.value[index] as Pattern
    const { form, text } = pattern
    const path = typeof patterns === 'string' ? [] : [index]
    if (isJoined(pattern))
      return [
        { path, message: `"${text}" is not a namespace: names have no commas`, hint: listHint(written) },
      ]
    if (form === 'regex' || text === '' || FORMS[form].test(text)) return []
    const verb = form === 'glob' ? 'means no namespace' : 'cannot be a namespace'
    const message = `"${text}" ${verb}: those have lower-case letters, digits and "-"`
    const about = variableIn(written)
    const hint = about === undefined ? namespaceHint(written, text) : `write "\${var:${about}}"`
    return [{ path, message, ...(hint !== undefined && { hint }), ...(about !== undefined && { about }) }]
  })
}

const FORMS = { literal: /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, glob: /^[-a-z0-9*?]+$/ } as const

/** `$prod`, `${prod}` and `$var.prod` without the form of a reference. */
function variableIn(text: string): string | undefined {
  return /^\$\{?(?:var[.:])?([A-Za-z][\w.-]*)\}?$/.exec(text)?.[1]
}

function namespaceHint(written: string, text: string): string | undefined {
  const glob = written.replaceAll(/\.[*+]/g, '*')
  if (glob !== written && FORMS.glob.test(glob)) return `write ${glob}, or an expression: /…/`
  const expression = expressionHint(written)
  if (expression !== undefined) return expression
  const lower = text.toLowerCase()
  return lower === text ? undefined : `did you mean "${lower}"?`
}

/** Returns whether a namespace may match both; undefined matches all, and true is returned if it is uncertain. */
export function namespacesMeet(a: Patterns | undefined, b: Patterns | undefined): boolean {
  const left = a === undefined ? undefined : matcherOf(a)
  const right = b === undefined ? undefined : matcherOf(b)
  if (!left || !right) return true
  if (left.literals) return left.literals.some((text) => left.test(text) && right.test(text))
  if (right.literals) return right.literals.some((text) => left.test(text) && right.test(text))
  return true
}

/** Returns whether the patterns match objects without a namespace. */
export function passesNoNamespace(patterns: Patterns | undefined): boolean {
  if (patterns === undefined) return true
  const compiled = compilePatterns(patterns)
  return !compiled.ok || compiled.value(undefined)
}

interface Matcher {
  test(text: string): boolean
  /** All names that can match, if all patterns are literals. */
  literals: readonly string[] | undefined
}

function matcherOf(patterns: Patterns): Matcher | undefined {
  const parsed = parsePatterns(patterns)
  const compiled = compilePatterns(patterns)
  if (!parsed.ok || !compiled.ok) return undefined
  const positive = parsed.value.filter(({ negated }) => !negated)
  const areLiterals = positive.length > 0 && positive.every(({ form }) => form === 'literal')
  return { test: compiled.value, literals: areLiterals ? positive.map(({ text }) => text) : undefined }
}
