import type { FieldChange, Resource } from '../model/event.ts'
import { isMap } from '../text/plain-data.ts'
import { redactForms } from '../text/redact.ts'
import { SECRET_NAME } from '../text/secret-forms.ts'

/** A value from JSON.parse. */
export type Json = unknown

const MAX_TEXT = 200
/** The number of equal characters to show before the first difference of two long texts. */
const CONTEXT = 40

const HIDDEN = '***'

/** `//user:password@` in a URL. */
const URL_LOGIN = /\/\/[^\s/?#@"'<>:]*:[^\s/?#@"'<>]*@/g

/** The place of a value in an object. */
interface Place {
  resource: Pick<Resource, 'group' | 'kind'>
  /** The first member on the path. */
  top: string
  /** The member's name; for an item of a list the value of its natural key. */
  key: string
  parent?: { key: string } | undefined
}

/**
 * Returns both values of a changed field for a notification: scalars and short JSON unchanged, other values as shortened text, around the
 * first difference. Values of Secrets, of names of secrets and logins of URLs are `***`.
 */
export function shownPair(place: Place, whole: Json, wholeNext: Json): Pick<FieldChange, 'old' | 'new'> {
  const mask = place.top === 'status' ? maskLogins : maskPart
  const [old, next] = aroundDifference(whole, wholeNext, mask)
  const show = isOfSecret(place) ? hide : (value: Json) => maskIn(place, value, mask)
  const [left, right] = [show(old), show(next)]
  const [before, after] = [textOf(left), textOf(right)]
  const start = Math.max(0, commonLength(before, after) - CONTEXT)
  return {
    ...(left !== undefined && { old: shorten(left, before, start) }),
    ...(right !== undefined && { new: shorten(right, after, start) }),
  }
}

/**
 * Cuts two long lists of scalars to the items around the first difference. Each item has at least two characters in the shortened text.
 */
function aroundDifference(old: Json, next: Json, mask: Mask): [Json, Json] {
  if (!isLongList(old) && !isLongList(next)) return [old, next]
  const lists = [old ?? [], next ?? []]
  if (!lists.every(isListOfScalars)) return [old, next]
  const [before, after] = lists as [Json[], Json[]]
  let first = 0
  while (first < before.length && isSeenSame(before[first], after[first], mask)) first++
  const [from, to] = [Math.max(0, first - MAX_TEXT), first + MAX_TEXT]
  const cut = (list: Json) => (Array.isArray(list) ? list.slice(from, to) : list)
  return [cut(old), cut(next)]
}

function isSeenSame(a: Json, b: Json, mask: Mask): boolean {
  return a === b || (typeof a === 'string' && mask(a) === mask(b))
}

function isLongList(value: Json): boolean {
  return Array.isArray(value) && value.length > 2 * MAX_TEXT
}

function isListOfScalars(value: Json): boolean {
  return Array.isArray(value) && value.every((it) => typeof it !== 'object' || it === null)
}

/** The values of a Secret are hashes already; not even these are shown. */
function isOfSecret({ resource: { group, kind }, top }: Place): boolean {
  return group === '' && kind === 'Secret' && (top === 'data' || top === 'stringData')
}

function hide(value: Json): Json {
  return value === undefined ? undefined : HIDDEN
}

/** Masks a value if its name, or that of its item (`env[name=DB_PASSWORD].value`), is a secret's. */
function maskIn({ key, parent }: Place, value: Json, mask: Mask): Json {
  const name = key === 'value' ? (parent?.key ?? '') : key
  return isSecret(name, value) ? HIDDEN : maskWithin(value, mask)
}

/** Masks the values inside of a map or list. */
function maskWithin(value: Json, mask: Mask): Json {
  if (typeof value !== 'object') return mask(value)
  try {
    return JSON.parse(JSON.stringify(value, (key, it) => (isSecret(key, it) ? HIDDEN : mask(it))))
  } catch {
    return '…' // nested beyond what the stack holds
  }
}

/** Masks a value, but not the members of a map. */
type Mask = (value: Json) => Json

/** Also what looks like a secret in texts: `--db-password=…`, `["--token", "…"]`, lines of a file in a ConfigMap, a private key. */
function maskPart(value: Json): Json {
  if (typeof value === 'string') return redactForms(String(maskLogins(value)), HIDDEN)
  if (!Array.isArray(value)) return maskLogins(value)
  return value.map((it, i) => (typeof it === 'string' && isFlagOfSecret(value[i - 1]) ? HIDDEN : it))
}

/** A status has messages, in which a name of a secret has another meaning. */
function maskLogins(value: Json): Json {
  if (typeof value === 'string') return value.replace(URL_LOGIN, `//${HIDDEN}@`)
  if (!isMap(value) || !Object.hasOwn(value, 'name') || !Object.hasOwn(value, 'value')) return value
  const { name } = value
  return typeof name === 'string' && isSecret(name, value['value']) ? { ...value, value: HIDDEN } : value
}

function isFlagOfSecret(flag: Json): boolean {
  return typeof flag === 'string' && /^--?[\w.-]+$/.test(flag) && SECRET_NAME.test(flag)
}

function isSecret(name: string, value: Json): boolean {
  if (Array.isArray(value))
    return value.length > 0 && isListOfScalars(value) && (SECRET_NAME.test(name) || isPlural(name))
  if (typeof value === 'string' && isPlural(name)) return !COUNT.test(value)
  return (typeof value === 'string' || typeof value === 'number') && value !== '' && SECRET_NAME.test(name)
}

/** Matches a number: a name in the plural may be that of a number of secrets, such as `MAX_TOKENS`. */
const COUNT = /^(?:[\d.]+[kKmM]?)?$/

/** Whether a name is that of several secrets: `tokens`. */
function isPlural(name: string): boolean {
  return /s$/i.test(name) && SECRET_NAME.test(name.slice(0, -1))
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
