import { parsePattern } from './pattern.ts'

/** No name of an object, no label's value and no reason has these. */
const IN_NAMES = /^[/^]|\$$|^\.\*|\.\+|[|[\](){}]|\\[dwsbDWSB.]/

/** A message may have most of them, and begin with the path of a file. */
const IN_MESSAGES = /^\/?\^|[^ ]\$$|^\.\*|\\[dwsbDWSB]/

const WORD = /^[A-Za-z0-9 _-]+$/

/** What to write instead of text or a glob that looks like an expression without its slashes; undefined when it does not. */
export function expressionHint(text: string, what: 'name' | 'message' = 'name'): string | undefined {
  const bare = text.replace(/^!/, '')
  const parsed = parsePattern(text)
  if (!parsed.ok || parsed.value.form === 'regex') return undefined
  if (!(what === 'name' ? IN_NAMES : IN_MESSAGES).test(bare)) return undefined
  const not = text === bare ? '' : '!'
  const words = bare.split('|')
  if (words.length > 1 && words.every((word) => /^[\w.-]+$/.test(word)))
    return `write a list: [${words.map((word) => quoted(not + word)).join(', ')}]`
  const source = bare.replace(/^\//, '')
  const core = source.replace(/^\.\*|\.\*$/g, '')
  if (what === 'message' && core !== source && WORD.test(core))
    return `write ${quoted(`${not}/${core}/`)} or ${quoted(`${not}*${core}*`)}`
  const expression = `${not}/${source}/`
  return parsePattern(expression).ok
    ? `write ${quoted(expression)}`
    : 'an expression stands between slashes: /…/'
}

/** As it can stand in the file, also inside `{ }`. */
function quoted(text: string): string {
  if (/^[\w/^$.*+?() |-]+$/.test(text) && !text.startsWith('*')) return text
  return text.includes('\\') ? `'${text}'` : `"${text}"`
}
