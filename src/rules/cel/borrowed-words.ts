import type { FaultWords } from './engine.ts'
import { endOfText, FLIPPED, literalAt, pathBefore, quantityAsked } from './operands.ts'

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
  const whole = `${base}${base === '' ? '' : '?'}${key}.?${tail.replaceAll('?.', '.?')}`
  const place = { start: path.start, end: end + tail.length }
  const why = '"?" stands before the field that may be missing'
  const [compared = '', asked] = /^\s*([!=])=\s*null\b/.exec(text.slice(place.end)) ?? []
  if (asked !== undefined) {
    const hint = `write ${asked === '=' ? '!' : ''}${whole}.hasValue(): ${why}`
    return { message, hint, start: place.start, end: place.end + compared.length }
  }
  const ahead = text.slice(Math.max(0, path.start - 20), path.start)
  const isNumber = /^[=!<>]=?\s*-?\d/.test(behind) || /\d\s*[=!<>]=?\s*$/.test(ahead)
  const isCondition = (!/[=<>]\s*$/.test(ahead) && /^(&&|\|\||$)/.test(behind)) || /true|false/.test(behind)
  const otherwise = isCondition ? 'false' : isNumber ? '0' : '""'
  return { message, hint: `write ${whole}.orValue(${otherwise}): ${why}`, ...place }
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
  const end = endOfCall(text, at)
  const body = text.slice(at + 2, end).trim()
  if (!found || !path || end === undefined || body === '')
    return { message, hint: 'write list.exists(it, it.name == "…")', start: at, end: at + 2 }
  const [, method = '', item] = found
  // What goes on is about the item itself.
  const isItem = method === 'find' && /^\)\s*[.[]/.test(text.slice(end))
  const asked = isItem ? `filter(${item}, ${body})[0]` : `${ARROWS[method] ?? method}(${item}, ${body})`
  return { message, hint: `write ${path.written}.${asked}`, start: path.start, end: end + 1 }
}

/** Where the bracket stands that closes what a place is within. */
function endOfCall(text: string, from: number): number | undefined {
  let depth = 0
  for (let i = from; i < text.length; i++) {
    const char = text[i] as string
    if (char === '"' || char === "'") i = endOfText(text, i)
    else if ('([{'.includes(char)) depth++
    else if (')]}'.includes(char) && --depth < 0) return i
  }
  return undefined
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
  const operator = /(?:[<>]=?|[!=]=)\s*$/.exec(text.slice(0, digits.index))?.[0] ?? ''
  const path = operator === '' ? undefined : pathBefore(text.slice(0, digits.index - operator.length))
  if (path)
    return {
      message,
      hint: `write ${quantityAsked(path.written, operator.trim(), written)}`,
      start: path.start,
      end: place.end,
    }
  const [ahead = '', next = '', other] =
    /^\s*([<>]=?|[!=]=)\s*([A-Za-z_][\w.]*(?![\w.([]))?/.exec(text.slice(place.end)) ?? []
  const hint = `write ${quantityAsked(other ?? 'x', FLIPPED[next], written)}`
  return { message, hint, start: place.start, end: place.end + (other === undefined ? 0 : ahead.length) }
}

/** What was compared with a number and its unit. */
function isOfResources(before: string): boolean {
  return /\b(cpu|memory|storage|limits|requests|capacity|allocatable)\b[^&|]*$/.test(before)
}
