import type { ConfigDocument } from './document.ts'
import type { RuleDraft } from './draft.ts'
import type { Problem } from './problem.ts'

/** `<1` is a text, and no number is that. */
export function checkComparisons(rule: RuleDraft, document: ConfigDocument): Problem[] {
  return (['from', 'to-state'] as const).flatMap((key) =>
    Object.entries(rule[key] ?? {}).flatMap(([field, patterns]) => {
      if (typeof patterns !== 'string') return []
      const [, operator = '', number = ''] = /^\s*([<>]=?|[!=]=)\s*(-?\d+(?:\.\d+)?)\s*$/.exec(patterns) ?? []
      if (operator === '') return []
      const message = `"${key}" compares no numbers: this is met only by the text "${patterns}"`
      const path = ['rules', rule.index, key, field]
      if (/=$/.test(operator) && /^[!=]/.test(operator)) {
        const hint = `write ${operator === '==' ? number : `"!${number}"`}`
        return [document.problem(path, message, { severity: 'warning', hint })]
      }
      const isAlone = Object.keys(rule[key] ?? {}).length === 1
      const hint = comparisonHint(rule, { key, field, operator, number, isAlone }, document)
      return [
        document.problem(isAlone ? path.slice(0, -1) : path, message, {
          severity: 'warning',
          atKey: true,
          hint,
        }),
      ]
    }),
  )
}

/** An `if` asks at each event: with `changed` it is told once, as the state would have been. */
function comparisonHint(
  rule: RuleDraft,
  {
    key,
    field,
    operator,
    number,
    isAlone,
  }: { key: string; field: string; operator: string; number: string; isAlone: boolean },
  document: ConfigDocument,
): string {
  const [top = '', ...steps] = field.split('.')
  if (!/^[a-z]\w*(\.[A-Za-z]\w*)+$/.test(field)) return 'an "if" compares numbers: object.spec.replicas < 3'
  const value = `${key === 'from' ? 'oldObject' : 'object'}.${top}${steps.map((it) => `.?${it}`).join('')}.orValue(0)`
  const asked = `${number.includes('.') ? `double(${value})` : value} ${operator} ${number}`
  const has = (it: string) => document.at(['rules', rule.index, it]) !== undefined
  const goes = isAlone ? `"${key}"` : `"${field}"`
  if (asksFor(rule.if, asked)) return `leave ${goes} out: "if" asks that`
  if (has('if')) return `in place of ${goes} add to "if": && ${asked}`
  const isState = has('for') || has('resolve')
  if (!isAlone || has('changed') || (isState && key === 'to-state'))
    return `in place of ${goes} write if: ${asked}`
  return `in place of ${goes} write if: ${asked}, and changed: ${field}`
}

/** Must this hold where the expression does? */
function asksFor(expression: string | undefined, asked: string): boolean {
  if (expression === undefined || /\|\||!\(/.test(expression)) return false
  return expression.split('&&').some((part) => plainly(part) === plainly(asked))
}

/** `object.status.readyReplicas<1`, however it is written. */
function plainly(expression: string): string {
  return expression.replaceAll(/\s|\.orValue\(0\)|[?]|double|int|[()]/g, '')
}
