import { isMap } from '../../text/plain-data.ts'
import type { JoinedDocument } from '../include/joined-document.ts'
import type { Located } from '../source-node.ts'

/** Shorter secrets occur in any text by chance. */
const MIN_LENGTH = 3
const MIN_LINE = 8

/** The number of texts in one regular expression, and the longest text in one. */
const TEXTS_PER_PATTERN = 500
const MAX_LENGTH = 200

/** Returns a value with `${env:…}` and `${file:…}` as they are written. */
export function referencesShown(at: Located | undefined): unknown {
  if (!at || at.secrets.length === 0) return at?.value
  if (at.items) return at.items.map(referencesShown)
  if (!at.entries) return at.written ?? '***'
  return Object.fromEntries([...at.entries].map(([key, { value }]) => [key, referencesShown(value)]))
}

/**
 * Returns the values of `${env:…}` and `${file:…}`, without those that only select events or name something, and without the name of
 * the cluster: every message has it.
 */
export function secretsOf(document: JoinedDocument, placeholders: ReadonlySet<string> = new Set()): string[] {
  const ofCluster = document.at(['cluster'])?.secrets ?? []
  const shown = new Set([...placeholders, ...ofCluster, ...document.plainValues])
  return document.secrets.filter((it) => !shown.has(it))
}

/** Returns a function that redacts secrets in a text, also where JSON, Markdown or HTML escapes them. */
export function hiderOf(secrets: readonly string[]): (text: string) => string {
  const lines = secrets.flatMap((it) => it.split(/\r?\n/).filter((line) => line.length >= MIN_LINE))
  return redactor([...secrets, ...lines].flatMap((it) => [it, JSON.stringify(it).slice(1, -1)]))
}

/**
 * Returns the same plain data with `hide` applied to its texts, not to keys, numbers and booleans: a secret such as `true` is also a
 * part of YAML and JSON. Texts at paths that `keeps` stay; an item of a list has the step `*`.
 */
export function hideTexts(
  value: unknown,
  hide: (text: string) => string,
  keeps: (path: readonly string[]) => boolean = () => false,
  path: readonly string[] = [],
): unknown {
  if (typeof value === 'string') return keeps(path) ? value : hide(value)
  if (Array.isArray(value)) return value.map((it) => hideTexts(it, hide, keeps, [...path, '*']))
  if (!isMap(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, it]) => [key, hideTexts(it, hide, keeps, [...path, key])]),
  )
}

/** Returns a function that replaces secrets by `***`, the longest first, because one can contain another. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const sorted = [...new Set(secrets)]
    .filter((it) => it.trim().length >= MIN_LENGTH)
    .toSorted((a, b) => b.length - a.length)
  const short = sorted.filter(({ length }) => length <= MAX_LENGTH)
  const long = sorted.slice(0, sorted.length - short.length)
  const patterns = Array.from({ length: Math.ceil(short.length / TEXTS_PER_PATTERN) }, (_, i) => {
    const part = short.slice(i * TEXTS_PER_PATTERN, (i + 1) * TEXTS_PER_PATTERN)
    return new RegExp(part.map(escapable).join('|'), 'g')
  })
  return (text) => {
    const rest = long.reduce((it, secret) => it.replaceAll(secret, '***'), text)
    return patterns.reduce((it, pattern) => it.replace(pattern, '***'), rest)
  }
}

/** Returns a regular expression for a secret, also with the backslashes, zero-width spaces and entities of its escaped forms. */
function escapable(secret: string): string {
  return (secret.match(/[\\\u200b]+|[\s\S]/g) ?? [])
    .map((it, i, all) => {
      // Not at the ends: a backslash there may belong to the text around it.
      const isInside = i > 0 && i < all.length - 1
      // One repetition for a run of backslashes: several next to each other would take exponential time.
      if (/[\\\u200b]/.test(it)) return `[\\\\\u200b]{${it.length}${isInside ? ',' : ''}}`
      const plain = it.replace(/[\^$.*+?()[\]{}|/]/, '\\$&')
      const form = ENTITIES[it] ? `(?:${plain}|${ENTITIES[it]}|&#${it.charCodeAt(0)};)` : plain
      const former = all[i - 1] ?? '\\'
      const isEscapable = !/[\\\u200b]/.test(former) && /[^A-Za-z0-9]/.test(`${former}${it}`)
      return isEscapable ? `[\\\\\u200b]{0,4}${form}` : form
    })
    .join('')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** The keys of a rule that select events, and its name. Templates and labels are not among them. */
const SELECTING = new Set([
  ...['name', 'when', 'if', 'changed', 'unchanged', 'from', 'to-state', 'condition'],
])

/** The step of a path for the items of a list. */
const ITEM = '*'

/**
 * Returns the values of `${env:…}` that all files use only where no secret is written: in watches, conditions, names of rules and sinks,
 * types and channels. To hide a namespace or a team in all texts would make names and links wrong.
 */
export function plainValuesIn(roots: readonly (Located | undefined)[]): ReadonlySet<string> {
  const [plain, secret] = [new Set<string>(), new Set<string>()]
  function visit(at: Located, path: readonly string[]): void {
    if (at.secrets.length === 0) return
    for (const item of at.items ?? []) visit(item, [...path, ITEM])
    for (const [key, { value }] of at.entries ?? []) visit(value, [...path, key])
    if (at.items || at.entries) return
    const target = isPlain(at, path) ? plain : secret
    for (const it of at.secrets) target.add(it)
  }
  for (const root of roots) if (root) visit(root, [])
  return plain.difference(secret)
}

/** Whether all references of a text are of the environment, at a place where no secret is written. */
function isPlain({ written, value }: Located, path: readonly string[]): boolean {
  if (written === undefined || /\$\{(?!env:)/.test(written)) return false
  return isPlainPlace(path) && !/\{[{%]/.test(String(value))
}

function isPlainPlace(path: readonly string[]): boolean {
  const [section, , key = '', ...rest] = path
  if (section === 'watch') return true
  if (section === 'sinks') return rest.length === 0 && (key === 'type' || key === 'channel')
  return section === 'rules' && (SELECTING.has(key) || isNamePlace(path) || (key === 'to' && isChannel(rest)))
}

/** `NAME.channel`, also in a list. */
function isChannel(rest: readonly string[]): boolean {
  const [name, option, ...more] = rest[0] === ITEM ? rest.slice(1) : rest
  return name !== undefined && option === 'channel' && more.length === 0
}

/** Whether a text at this place of a configuration is the name of a rule or sink, or the type of a sink. */
export function isNamePlace(path: readonly string[]): boolean {
  const [section, , key, ...rest] = path
  if (section === 'sinks') return key === 'type' && rest.length === 0
  if (section !== 'rules') return false
  return (key === 'name' && rest.length === 0) || (key === 'to' && rest.every((it) => it === ITEM))
}
