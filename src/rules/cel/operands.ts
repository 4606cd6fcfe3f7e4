/** Longer ones are not looked for: a text may hold thousands of them. */
const MAX_OPERAND = 500

const PATH = /[A-Za-z_]\w*(?:\.\??[A-Za-z_]\w*|\[\??(?:"[^"]*"|'[^']*'|\d+)\])*(?=\s*$)/

/** The path of fields that ends where a text does, and where it begins: `object.spec.replicas` of `x && object.spec.replicas `. */
export function pathBefore(text: string): { written: string; start: number } | undefined {
  const from = Math.max(0, text.length - MAX_OPERAND)
  const found = PATH.exec(text.slice(from))
  return found ? { written: found[0], start: from + found.index } : undefined
}

/** The text or number that a text begins with, as it is written; `length` counts blanks before it. */
export function literalAt(text: string): { written: string; length: number } | undefined {
  const [whole = '', written] = LITERAL.exec(text.slice(0, MAX_OPERAND)) ?? []
  return written === undefined ? undefined : { written, length: whole.length }
}

const LITERAL = /^\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|-?\d+(?:\.\d+)?(?!\w))/

/** What stands before and behind an operator, where it is the only one of its kind outside of brackets and texts. */
export function sidesOf(written: string, operator: string): [left: string, right: string] | undefined {
  const at: number[] = []
  let depth = 0
  for (let i = 0; i < written.length; i++) {
    const char = written[i] as string
    if (char === '"' || char === "'") i = endOfText(written, i)
    else if ('([{'.includes(char)) depth++
    else if (')]}'.includes(char)) depth--
    else if (depth === 0 && written.startsWith(` ${operator} `, i)) at.push(i)
  }
  const [only] = at
  if (only === undefined || at.length > 1) return undefined
  return [written.slice(0, only).trim(), written.slice(only + operator.length + 2).trim()]
}

/** Where a text in quotes ends that begins at `start`: its last quote, or the end of all. */
export function endOfText(text: string, start: number): number {
  const quote = text[start]
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === quote) return i
  }
  return text.length
}

/** A field, asked for so that an object without labels ends in no error. */
export function hasOf(path: string): string {
  const asked = path.replace(/(?<=\.metadata)\.(?=(?:labels|annotations)[.[])/, '.?')
  return asked.endsWith(']') ? `${asked.replace(LAST_INDEX, '[?$1]')}.hasValue()` : `has(${asked})`
}

const LAST_INDEX = /\[((?:[^[\]"']|"[^"]*"|'[^']*')*)\]$/

/** A path of fields compared with a quantity: `quantity(object.a).isLessThan(quantity("1Gi"))` of `<`. */
export function quantityAsked(path: string, operator = '>', size: string): string {
  const [one, other] = [`quantity(${orNothing(path, operator)})`, `quantity("${size}")`]
  if (/^[!=]=$/.test(operator)) return `${one}.compareTo(${other}) ${operator} 0`
  const method = /^(>|<=)$/.test(operator) ? 'isGreaterThan' : 'isLessThan'
  return `${operator.endsWith('=') ? '!' : ''}${one}.${method}(${other})`
}

/** Not every container has limits; one without has no more of them than anything. */
function orNothing(path: string, operator: string): string {
  const [, item, fields] = /^(.*?)\.((?:resources\.)?(?:limits|requests)\.\w+)$/.exec(path) ?? []
  if (item === undefined || fields === undefined || !operator.startsWith('>')) return path
  return `${item}.?${fields.replaceAll('.', '.?')}.orValue("0")`
}

/** The same comparison, read from its other side. */
export const FLIPPED: Readonly<Record<string, string>> = {
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
  '==': '==',
  '!=': '!=',
}
