import type { CelFault, FaultWords } from './engine.ts'
import { endOfText, FLIPPED, literalAt, pathBefore, quantityAsked } from './operands.ts'

/** Habits of other languages, at the place of the fault or just before it: pattern, what to write. */
const HABITS: readonly { pattern: RegExp; hint: string }[] = [
  { pattern: /^[=!]==|^=/, hint: 'write "==" to compare, "!=" for not' },
  { pattern: /^&/, hint: 'write "&&"' },
  { pattern: /^\|/, hint: 'write "||"' },
  { pattern: /^and\b/i, hint: 'write "&&"' },
  { pattern: /^or\b/i, hint: 'write "||"' },
  { pattern: /^not\s+in\b/i, hint: 'write !(x in list)' },
  { pattern: /^not\b/i, hint: 'write "!"' },
  { pattern: /^is\b/i, hint: 'write "=="' },
  { pattern: /^contains\b/i, hint: 'write x.contains("…")' },
  { pattern: /^matches\b/i, hint: 'write x.matches("…")' },
  { pattern: /^starts_?with\b/i, hint: 'write x.startsWith("…")' },
  { pattern: /^ends_?with\b/i, hint: 'write x.endsWith("…")' },
  { pattern: /^[~]/, hint: 'write x.matches("…")' },
  { pattern: /^[“”‘’„]/, hint: 'write plain quotes: "…"' },
  { pattern: /^\$/, hint: 'variables have no "$": write object, event' },
  { pattern: /^`/, hint: 'write a key with special characters as x["a/b"]' },
  { pattern: /^[)\]}](?!\})/, hint: 'it closes nothing' },
  { pattern: /^\//, hint: 'an expression is a text: x.matches("…")' },
  { pattern: /^;/, hint: 'an expression has no ";"' },
  { pattern: /^%\}|^\}\}/, hint: 'an expression stands without {{ }}' },
]

/** What is wrong with how an expression is written. */
export function syntaxWords({ code, message, start, end }: CelFault, text: string): FaultWords {
  const rest = text.slice(start)
  const before = text.slice(0, start)
  if (code === 'reserved_identifier') return reserved(message)
  if (/^(unterminated_string|unterminated_triple)/.test(code))
    return {
      message: 'has a text without its closing quote',
      hint: closing(rest),
      end: start + 1,
    }
  if (code === 'newline_in_string')
    return {
      message: 'has a text that goes over the end of its line',
      hint: 'close the quote, or join texts with "+"',
    }
  if (/escape|surrogate/.test(code))
    return {
      message: lowerFirst(message),
      hint: 'write "\\\\" for a backslash, or r"…" for a text without escapes',
    }
  if (/[=!]=$/.test(before) && rest.startsWith('=')) {
    const first = start - 2
    return {
      message: `"${text.slice(first, start + 1)}" is no operator`,
      hint: `write "${text.slice(first, start)}"`,
      start: first,
      end: start + 1,
    }
  }
  if (rest.startsWith('=>')) return arrowWords(before, rest, start)
  if (/\bnot\s*$/i.test(before))
    return {
      message: '"not" is no operator',
      hint: 'write "!"',
      start: before.search(/not\s*$/i),
      end: before.trimEnd().length,
    }
  const matching =
    /[=]$/.test(before) && rest.startsWith('~') ? start - 1 : rest.startsWith('=~') ? start : -1
  if (matching >= 0)
    return {
      message: '"=~" is no operator',
      hint: matchesHint(text, matching),
      start: matching,
      end: matching + 2,
    }
  const unit = /^(ms|s|m|h|d)\b/.exec(rest)?.[0]
  const digits = /(?<![\w.])\d+$/.exec(before)
  if (unit && digits) {
    const span = `${digits[0]}${unit}`
    const hours = unit === 'd' ? `${Number(digits[0]) * 24}h` : span
    return {
      message: `"${span}" is no number`,
      hint: isOfResources(before)
        ? quantityHint(before.slice(0, digits.index), span, rest.slice(unit.length))
        : `write duration("${hours}")`,
      start: digits.index,
      end: start + unit.length,
    }
  }
  const size = /^([KMGTPE]i?|k)\b/.exec(rest)?.[0]
  if (size && digits)
    return {
      message: `"${digits[0]}${size}" is no number, but a quantity`,
      hint: quantityHint(before.slice(0, digits.index), `${digits[0]}${size}`, rest.slice(size.length)),
      start: digits.index,
      end: start + size.length,
    }
  const macro = /^\w+\s*\.\s*(exists|exists_one|all|map|filter)\s*\(/.exec(rest)
  if (macro && /\.\s*\?\s*$/.test(before))
    return {
      message: `"${macro[1]}" works on lists, and this may be none`,
      hint: `write .orValue([]) before .${macro[1]}(…)`,
      end: start + (macro[0] as string).length - 1,
    }
  if (/\?\s*$/.test(before) && rest.startsWith('?'))
    return {
      message: '"??" is no operator',
      hint: nullishHint(before.trimEnd().slice(0, -1), rest),
      start: before.trimEnd().length - 1,
      end: start + 1,
    }
  if (/\?\s*$/.test(before) && rest.startsWith('.'))
    return {
      message: '"?." is no operator',
      hint: chainHint(before.trimEnd().slice(0, -1), rest),
      start: before.trimEnd().length - 1,
      end: start + 1,
    }
  const opening = rest.startsWith('}') ? before.lastIndexOf('{{') : -1
  if (opening >= 0)
    return {
      message: '"{{" does not belong here',
      hint: 'an expression stands without {{ }}',
      start: opening,
      end: opening + 2,
    }
  const habit = HABITS.find(({ pattern }) => pattern.test(rest))
  if (start >= text.trimEnd().length)
    return {
      message: 'ends too early',
      hint: missing(text),
      start: Math.max(text.trimEnd().length - 1, 0),
      end: text.trimEnd().length,
    }
  const word = /^(?:[\w.]+|["'][^"']{0,40}["']?|.)/su.exec(rest)?.[0] ?? ''
  return {
    message: `${JSON.stringify(word).replaceAll('\\"', "'")} does not belong here`,
    hint:
      habit?.hint ??
      (/^[A-Za-z_"'\d]/.test(word) ? 'is an operator missing before it, such as "&&" or "=="?' : undefined),
    start,
    end: Math.max(start + word.length, Math.min(end, start + word.length)),
  }
}

/** With the quote that is missing, where it is only a word. */
function closing(text: string): string {
  const [word, quote] = /^(["'])[\w./-]+$/.exec(text.trimEnd()) ?? []
  return word === undefined ? 'close it' : `close it: ${word}${quote}`
}

/** `a.b?.c == 3` → `a.?b.?c.orValue(0)`: here the "?" stands before what may be missing. */
function chainHint(before: string, rest: string): string {
  const [, base = '', key] = /((?:[A-Za-z_]\w*\s*\.\s*)*)([A-Za-z_]\w*)$/.exec(before.slice(-MAX_PATH)) ?? []
  const [, tail, behind = ''] = /^\.((?:\w+\??\.)*\w+)(?![\w.(?[])\s*(.{0,9})/su.exec(rest) ?? []
  if (key === undefined || tail === undefined) return 'write x.?field, with .orValue(…) behind it'
  const written = `${parentOf(base, key)}?${tail.replaceAll('?.', '.?')}`
  const [, asked] = /^([!=])=\s*null\b/.exec(behind) ?? []
  if (asked !== undefined)
    return `write ${asked === '=' ? '!' : ''}${written}.hasValue(): "?" stands before the field that may be missing`
  const ahead = before.slice(0, -(base + key).length).slice(-20)
  const isNumber = /^[=!<>]=?\s*-?\d/.test(behind) || /\d\s*[=!<>]=?\s*$/.test(ahead)
  const isCondition = (!/[=<>]\s*$/.test(ahead) && /^(&&|\|\||$)/.test(behind)) || /true|false/.test(behind)
  const otherwise = isCondition ? 'false' : isNumber ? '0' : '""'
  return `write ${written}.orValue(${otherwise}): "?" stands before the field that may be missing`
}

function parentOf(base: string, key: string): string {
  return base === '' ? `${key}.` : `${base}?${key}.`
}

const MAX_PATH = 500

function matchesHint(text: string, at: number): string {
  const path = pathBefore(text.slice(0, at)) ?? 'x'
  return `write ${path}.matches(${literalAt(text.slice(at + 2)) ?? '"…"'})`
}

/** `x.memory > 1Gi` */
function quantityHint(before: string, size: string, rest: string): string {
  const operator = /(?:[<>]=?|[!=]=)\s*$/.exec(before)?.[0]
  if (operator !== undefined) {
    const path = pathBefore(before.slice(0, -operator.length)) ?? 'x'
    return `write ${quantityAsked(path, operator.trim(), size)}`
  }
  const [, next = '', path = 'x'] = /^\s*([<>]=?|[!=]=)\s*([A-Za-z_][\w.]*(?![\w.([]))?/.exec(rest) ?? []
  return `write ${quantityAsked(path, FLIPPED[next], size)}`
}

/** `object.spec.replicas ?? 1` */
function nullishHint(before: string, rest: string): string {
  const [, base, key] = /^(.*)\.(\w+)$/.exec(pathBefore(before) ?? '') ?? []
  if (key === undefined) return 'for a field that may be missing: object.spec.?replicas.orValue(1)'
  return `write ${base}.?${key}.orValue(${literalAt(rest.slice(1)) ?? '…'})`
}

const ARROWS: Readonly<Record<string, string>> = {
  some: 'exists',
  any: 'exists',
  find: 'exists',
  every: 'all',
}
const OF_LISTS = /\b(exists|exists_one|all|filter|map|some|any|find|every)\s*\(\s*\(?\s*(\w+)\s*\)?\s*$/

/** `list.some(c => c.x)` */
function arrowWords(before: string, rest: string, start: number): FaultWords {
  const message = '"=>" is no operator'
  const found = OF_LISTS.exec(before)
  const list = found && /(.*)\.\s*$/s.exec(before.slice(0, found.index))?.[1]
  const path = list && pathBefore(list)
  const end = endOfCall(rest)
  const body = rest.slice(2, end).trim()
  if (!found || !path || end === undefined || body === '')
    return { message, hint: 'write list.exists(it, it.name == "…")', end: start + 2 }
  const [, method = '', item] = found
  // What goes on is about the item itself.
  const isItem = method === 'find' && /^\)\s*[.[]/.test(rest.slice(end))
  const asked = isItem ? `filter(${item}, ${body})[0]` : `${ARROWS[method] ?? method}(${item}, ${body})`
  return {
    message: `"${method}(${item} =>" is written otherwise here`,
    hint: `write ${path}.${asked}`,
    start: found.index,
    end: start + 2,
  }
}

/** Where the bracket stands that closes what a text is within. */
function endOfCall(text: string): number | undefined {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string
    if (char === '"' || char === "'") i = endOfText(text, i)
    else if ('([{'.includes(char)) depth++
    else if (')]}'.includes(char) && --depth < 0) return i
  }
  return undefined
}

/** What was compared with a number and its unit. */
function isOfResources(before: string): boolean {
  return /\b(cpu|memory|storage|limits|requests|capacity|allocatable)\b[^&|]*$/.test(before)
}

function reserved(message: string): FaultWords {
  const name = /: (.*)$/.exec(message)?.[1] ?? ''
  const hint = name === 'namespace' ? 'write event.namespace' : undefined
  return { message: `"${name}" is a reserved word`, hint }
}

function missing(text: string): string | undefined {
  for (const [open, close] of ['()', '[]', '{}'] as const) {
    const count = (char: string | undefined) => text.split(char ?? '').length
    if (count(open) > count(close)) return `a "${close}" is missing`
  }
  return 'what follows is missing'
}

function lowerFirst(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1)
}
