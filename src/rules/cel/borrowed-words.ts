import type { FaultWords } from './engine.ts'
import { literalAt, pathBefore } from './operands.ts'

/**
 * What other languages have and CEL has not, with what to write instead of all that is underlined. `start` is where the parser
 * found no way on.
 */
export function borrowedWords(text: string, start: number): FaultWords | undefined {
  const before = text.slice(0, start)
  const rest = text.slice(start)
  const asked = before.trimEnd()
  if (rest.startsWith('=>')) return arrow(text, start)
  if (before.endsWith('=') && rest.startsWith('~')) return match(text, start - 1)
  if (rest.startsWith('=~')) return match(text, start)
  if (asked.endsWith('?') && rest.startsWith('?')) return nullish(text, asked.length - 1, start + 1)
  if (asked.endsWith('?') && rest.startsWith('.')) return chain(text, asked.length - 1, start + 1)
  if (rest.startsWith('}') && before.includes('{{')) return template(text, before.lastIndexOf('{{'))
  return unit(text, start)
}

/** `x =~ "a"` */
function match(text: string, at: number): FaultWords {
  const path = pathBefore(text.slice(0, at))
  const pattern = literalAt(text.slice(at + 2))
  const message = '"=~" is no operator'
  if (!path || !pattern) return { message, hint: 'write x.matches("…")', start: at, end: at + 2 }
  const hint = `write ${path.written}.matches(${pattern.written})`
  return { message, hint, start: path.start, end: at + 2 + pattern.length }
}

/** `object.spec.replicas ?? 1` */
function nullish(text: string, at: number, end: number): FaultWords {
  const path = pathBefore(text.slice(0, at))
  const otherwise = literalAt(text.slice(end))
  const message = '"??" is no operator'
  const [, base, key] = /^(.*)\.(\w+)$/.exec(path?.written ?? '') ?? []
  if (!path || !otherwise || key === undefined)
    return {
      message,
      hint: 'for a field that may be missing: object.spec.?replicas.orValue(1)',
      start: at,
      end,
    }
  const hint = `write ${base}.?${key}.orValue(${otherwise.written})`
  return { message, hint, start: path.start, end: end + otherwise.length }
}

/** `a.b?.c == 3` → `a.?b.?c.orValue(0)`: here the "?" stands before what may be missing. */
function chain(text: string, at: number, end: number): FaultWords {
  const message = '"?." is no operator'
  const path = pathBefore(text.slice(0, at))
  const [tail, behind = ''] =
    /^((?:\w+\??\.)*\w+)(?![\w.(?[])\s*(.{0,9})/su.exec(text.slice(end))?.slice(1) ?? []
  const [, base = '', key] = /^((?:\w+\.)*)(\w+)$/.exec(path?.written ?? '') ?? []
  if (!path || key === undefined || tail === undefined)
    return { message, hint: 'write x.?field, with .orValue(…) behind it', start: at, end }
  const isCondition = /^(&&|\|\||$)|true|false/.test(behind)
  const otherwise = isCondition ? 'false' : /^[=!<>]=?\s*-?\d/.test(behind) ? '0' : '""'
  const whole = `${base}${base === '' ? '' : '?'}${key}.?${tail.replaceAll('?.', '.?')}`
  const hint = `write ${whole}.orValue(${otherwise}): "?" stands before the field that may be missing`
  return { message, hint, start: path.start, end: end + tail.length }
}

/** `{{ object.status.phase }} == "Failed"` */
function template(text: string, start: number): FaultWords {
  const close = text.indexOf('}}', start)
  const within = close === -1 ? '' : text.slice(start + 2, close).trim()
  const hint = within === '' ? 'an expression stands without {{ }}' : `write ${within}`
  return {
    message: 'an expression stands without {{ }}',
    hint,
    start,
    end: close === -1 ? start + 2 : close + 2,
  }
}

const ARROWS: Readonly<Record<string, string>> = {
  some: 'exists',
  any: 'exists',
  find: 'exists',
  every: 'all',
}
const OF_LISTS = /\b(exists|exists_one|all|filter|map|some|any|find|every)\s*\(\s*\(?\s*(\w+)\s*\)?\s*$/

/** `list.some(c => c.x)` */
function arrow(text: string, at: number): FaultWords {
  const message = '"=>" is no operator'
  const found = OF_LISTS.exec(text.slice(0, at))
  const list = found && text.slice(0, found.index).trimEnd()
  const path = list?.endsWith('.') ? pathBefore(list.slice(0, -1)) : undefined
  const [call, body] = /^=>\s*([^()]*(?:\([^()]*\)[^()]*)*)\)/.exec(text.slice(at)) ?? []
  if (!found || !path || call === undefined || body === undefined)
    return { message, hint: 'write list.exists(it, it.name == "…")', start: at, end: at + 2 }
  const [, method = '', item] = found
  const hint = `write ${path.written}.${ARROWS[method] ?? method}(${item}, ${body.trim()})`
  return { message, hint, start: path.start, end: at + call.length }
}

/** `x > 5m`, `x.memory > 1Gi` */
function unit(text: string, at: number): FaultWords | undefined {
  const suffix = /^(ms|s|m|h|d|[KMGTPE]i?|k)\b/.exec(text.slice(at))?.[0]
  const digits = /(?<![\w.])\d+$/.exec(text.slice(0, at))
  if (suffix === undefined || !digits) return undefined
  const written = digits[0] + suffix
  const place = { start: digits.index, end: at + suffix.length }
  if (!/^[KMGTPEk]/.test(suffix) && !isOfResources(text.slice(0, at))) {
    const span = suffix === 'd' ? `${Number(digits[0]) * 24}h` : written
    return { message: `"${written}" must be a duration`, hint: `write duration("${span}")`, ...place }
  }
  const message = `"${written}" must be a quantity`
  const asked = text.slice(0, digits.index).trimEnd()
  const operator = /[<>]=?$/.exec(asked)?.[0]
  const path = operator === undefined ? undefined : pathBefore(asked.slice(0, -operator.length))
  if (operator === undefined || !path)
    return { message, hint: `write quantity(x).isGreaterThan(quantity("${written}"))`, ...place }
  const not = operator.endsWith('=') ? '!' : ''
  const method = /^(>|<=)$/.test(operator) ? 'isGreaterThan' : 'isLessThan'
  const hint = `write ${not}quantity(${path.written}).${method}(quantity("${written}"))`
  return { message, hint, start: path.start, end: place.end }
}

/** What was compared with a number and its unit. */
function isOfResources(before: string): boolean {
  return /\b(cpu|memory|storage|limits|requests|capacity|allocatable)\b[^&|]*$/.test(before)
}
