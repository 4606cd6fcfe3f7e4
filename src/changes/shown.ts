import type { FieldChange } from '../event.ts'
import { isMap, type Json, memberOf } from './json.ts'
import type { Trail } from './trail.ts'

const MAX_TEXT = 200
/** What two long texts have in common before they differ is left out but for so much. */
const CONTEXT = 40

const HIDDEN = '***'

/** Names of what is no business of a channel's: `DB_PASSWORD`, `apiKey`, `auth-token`. */
const SECRET_NAME =
  /(pass(word|wd|phrase)?|pwd|secret|token|credentials?|(api|access|private|secret)[-_.]?key|authorization|cookie)$/i

/** `//user:password@` of a URL. */
const URL_LOGIN = /\/\/[^\s/?#@"'<>:]*:[^\s/?#@"'<>]*@/g

/** The two values as people are shown them: scalars and short JSON as they are, the rest as shortened text. */
export function shownPair(trail: Trail, whole: Json, wholeNext: Json): Pick<FieldChange, 'old' | 'new'> {
  const [old, next] = aroundDifference(whole, wholeNext)
  const show = isOfSecret(trail) ? hide : (value: Json) => maskIn(trail, value)
  const [left, right] = [show(old), show(next)]
  const [before, after] = [textOf(left), textOf(right)]
  const start = Math.max(0, commonLength(before, after) - CONTEXT)
  return {
    ...(left !== undefined && { old: shorten(left, before, start) }),
    ...(right !== undefined && { new: shorten(right, after, start) }),
  }
}

/**
 * Of two long lists of scalars what can be seen of them in the end: some items before the first that differs, and some behind.
 * Each has at least two characters.
 */
function aroundDifference(old: Json, next: Json): [Json, Json] {
  if (!isLongList(old) && !isLongList(next)) return [old, next]
  const lists = [old ?? [], next ?? []]
  if (!lists.every(isListOfScalars)) return [old, next]
  const [before, after] = lists as [Json[], Json[]]
  let first = 0
  while (first < before.length && isSeenSame(before[first], after[first])) first++
  const [from, to] = [Math.max(0, first - MAX_TEXT), first + MAX_TEXT]
  const cut = (list: Json) => (Array.isArray(list) ? list.slice(from, to) : list)
  return [cut(old), cut(next)]
}

function isSeenSame(a: Json, b: Json): boolean {
  return a === b || (typeof a === 'string' && maskPart(a) === maskPart(b))
}

function isLongList(value: Json): boolean {
  return Array.isArray(value) && value.length > 2 * MAX_TEXT
}

function isListOfScalars(value: Json): boolean {
  return Array.isArray(value) && value.every((it) => typeof it !== 'object' || it === null)
}

/** What a Secret holds are hashes; nobody is told even these. */
function isOfSecret({ resource: { group, kind }, top }: Trail): boolean {
  return group === '' && kind === 'Secret' && (top === 'data' || top === 'stringData')
}

function hide(value: Json): Json {
  return value === undefined ? undefined : HIDDEN
}

/** A value whose name, or that of the item it is in (`env[name=DB_PASSWORD].value`), says that it is secret. */
function maskIn({ key, parent }: Trail, value: Json): Json {
  const name = key === 'value' ? (parent?.key ?? '') : key
  return isSecret(name, value) ? HIDDEN : maskWithin(value)
}

/** The same inside of a value that is told as a whole. */
function maskWithin(value: Json): Json {
  if (typeof value !== 'object') return maskPart(value)
  try {
    return JSON.parse(JSON.stringify(value, (key, it) => (isSecret(key, it) ? HIDDEN : maskPart(it))))
  } catch {
    return '…' // nested beyond what the stack holds
  }
}

function maskPart(value: Json): Json {
  if (typeof value === 'string') return value.replace(URL_LOGIN, `//${HIDDEN}@`)
  const name = isMap(value) ? memberOf(value, 'name') : undefined
  if (!isMap(value) || typeof name !== 'string' || !isSecret(name, memberOf(value, 'value'))) return value
  return { ...value, value: HIDDEN }
}

function isSecret(name: string, value: Json): boolean {
  return (typeof value === 'string' || typeof value === 'number') && value !== '' && SECRET_NAME.test(name)
}

function textOf(value: Json): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function commonLength(a: string, b: string): number {
  let length = 0
  while (length < a.length && a.charCodeAt(length) === b.charCodeAt(length)) length++
  return length
}

function shorten(value: Json, text: string, start: number): Json {
  if (text.length <= MAX_TEXT) return value
  const head = start > 0 ? '…' : ''
  const rest = text.length - start > MAX_TEXT - head.length
  const room = MAX_TEXT - head.length - (rest ? 1 : 0)
  const excerpt = text.slice(start, start + room).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '')
  return `${head}${excerpt}${rest ? '…' : ''}`
}
