import type { CelFault, FaultWords } from './engine.ts'
import { sidesOf } from './operands.ts'
import { isOptional, optionalConditionHint, optionalHint, optionalsIn } from './optional-words.ts'

/** An operator between values that it does not take. */
export function wrongTypes(fault: CelFault, text: string): FaultWords {
  const [, left = '', operator = '', right = ''] = /: (.*?) (\S+) (.*)$/.exec(fault.message) ?? []
  const written = text.slice(fault.start, fault.end)
  if (left === 'type' && /^type\b/.test(written))
    return {
      message: '"type" is the function type() here',
      hint: 'the change is event.type, Normal or Warning is event.eventType',
      end: fault.start + 4,
    }
  if (operator === '') {
    const type = /: [!-](.*)$/.exec(fault.message)?.[1] ?? ''
    return {
      message: `"${written[0]}" does not work on ${typeName(type)}`,
      hint:
        optionalConditionHint(type, written) ??
        (written.startsWith('!') ? 'compare it, such as x == "" or !has(x)' : undefined),
    }
  }
  const verb = COMPARING.has(operator) ? 'be compared' : 'be used'
  const message = `${typeName(left)} and ${typeName(right)} cannot ${verb} with "${operator}"`
  const hint = conversionHint(left, right, written, operator)
  const quotedNumber = hint?.endsWith(WITHOUT_QUOTES) ? written.search(QUOTED_NUMBER) : -1
  if (quotedNumber >= 0) {
    const start = fault.start + quotedNumber
    return { message, hint, start, end: start + (QUOTED_NUMBER.exec(written)?.[0].length ?? 1) }
  }
  const [path, ...others] = [left, right].some(isOptional) ? optionalsIn(written) : []
  if (path !== undefined && others.length === 0 && !hint?.endsWith('.hasValue()')) {
    const start = fault.start + written.indexOf(path)
    return { message, hint, start, end: start + path.length }
  }
  const several = operator === 'in' && /\bin\s+(?=(["'])([^"']*)\1$)/.exec(written)
  if (!several || right !== 'string') return { message, hint }
  const [lead, , named = ''] = several
  const words = named.split(',').map((word) => JSON.stringify(word.trim()))
  return {
    message: '"in" needs a list on its right, and not a text',
    hint: `write [${words.join(', ')}]`,
    start: fault.start + several.index + lead.length,
  }
}

const COMPARING = new Set(['==', '!=', '<', '<=', '>', '>='])

const QUOTED_NUMBER = /["'](-?\d+)["']/
const WITHOUT_QUOTES = 'without quotes'

function conversionHint(left: string, right: string, written: string, operator: string): string | undefined {
  const optional = optionalHint(left, right, written, operator)
  if (optional) return optional
  const types = [left, right]
  for (const [type, name] of REFERENCES)
    if (types.includes(type)) return `write event.${name}.kind == "…" && event.${name}.name == "…"`
  if (left === 'string' && /^list</.test(right)) return 'write x in ["a", "b"] for one of several'
  const number = QUOTED_NUMBER.exec(written)?.[1]
  if (types.includes('int') && types.includes('string')) {
    if (number !== undefined) return `write ${number} ${WITHOUT_QUOTES}`
    const plain = /[=<>+]\s*(\d+)\s*$/.exec(written)?.[1]
    return plain === undefined
      ? 'string(x) or int(x) makes one of the other'
      : `write "${plain}" in quotes, or int(x) before it`
  }
  if (left === 'string' && right === 'string')
    return 'write x in ["a", "b"] for one of several, x.contains("…") for a part of a text'
  if (types.includes('int') && types.includes('double')) return 'double(x) makes a double of an int'
  if (types.includes(TIMESTAMP) && types.includes('string'))
    return 'timestamp("2026-01-01T00:00:00Z") makes a time of a text'
  if (types.includes(DURATION))
    return 'duration("5m") is a span of time; a difference of two times is one, too'
  if (types.includes('kubernetes.Quantity')) return quantityHint(types, written, operator)
  return undefined
}

function quantityHint(types: string[], written: string, operator: string): string {
  const [left = 'a', right = 'b'] = sidesOf(written, operator) ?? []
  const [one, other] = [left, right].map((it, i) =>
    types[i] === 'kubernetes.Quantity' ? it : `quantity(${it})`,
  ) as [string, string]
  const method = operator.startsWith('>') === !operator.endsWith('=') ? 'isGreaterThan' : 'isLessThan'
  if (/^[<>]=?$/.test(operator)) return `write ${operator.endsWith('=') ? '!' : ''}${one}.${method}(${other})`
  if (/^[!=]=$/.test(operator)) return `write ${one}.compareTo(${other}) ${operator} 0`
  return 'write a.isGreaterThan(b), a.isLessThan(b) or a.compareTo(b) == 0'
}

const REFERENCES = [
  ['kubeherald.Owner', 'owner'],
  ['kubeherald.Regarding', 'regarding'],
] as const
const TIMESTAMP = 'google.protobuf.Timestamp'
const DURATION = 'google.protobuf.Duration'

/** `a timestamp`, `an int`. */
export function typeName(type: string): string {
  if (type === TIMESTAMP) return 'a timestamp'
  if (type === DURATION) return 'a duration'
  if (isOptional(type)) return 'a value that may be missing'
  const plain = type.replace(/^dyn<(.*)>$/, '$1').replace(/^(kubernetes|net|kubeherald)\./, '')
  return `${/^[aeiouAEIOU]/.test(plain) ? 'an' : 'a'} ${plain}`
}
