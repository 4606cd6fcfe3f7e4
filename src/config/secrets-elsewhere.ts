import { hiding } from './hiding.ts'
import type { Entry, Located } from './located.ts'
import { hiddenWords, maskLine } from './mask-line.ts'

const OF_VARIABLES = /\$\{var:/

/** Passwords and the like that a sink or Redis takes from an anchor or a variable: where these stand, no key tells that they are secret. */
export function secretsElsewhere(root: Located | undefined): string[] {
  const found = new Set<string>()
  const seen = new Set<Located>()
  const visit = (it: Located, key: string, isElsewhere: boolean) => {
    const isLeaf = !it.entries && !it.items
    const hasVariables = isLeaf && OF_VARIABLES.test(it.file.text.slice(it.start, it.end))
    if (it.secrets.length > 0 && isLeaf && !hasVariables) return
    if (!isElsewhere && seen.has(it)) return
    seen.add(it)
    const own = isElsewhere || hasVariables || isVariable(it)
    for (const [name, entry] of it.entries ?? [])
      visit(entry.value, isSecret(key) ? key : name, own || isAlias(entry))
    for (const item of it.items ?? []) visit(item, key, own || item.start < it.start)
    if (own && isLeaf) for (const word of hiddenIn(key, it)) found.add(word)
  }
  for (const part of ['redis', 'sinks']) {
    const entry = root?.entries?.get(part)
    if (entry) visit(entry.value, part, isAlias(entry))
  }
  return [...found]
}

function isVariable({ file, start }: Located): boolean {
  return /^["']?\$\{var:/.test(file.text.slice(start, start + 8))
}

function isAlias({ key, value }: Entry): boolean {
  return value.file !== key.file || value.start < key.start
}

function isSecret(key: string): boolean {
  return hiddenIn(key, { value: 'abcd' }).length > 0
}

function hiddenIn(key: string, { value, source }: Pick<Located, 'value' | 'source'>): string[] {
  const lines = (source ?? (typeof value === 'string' ? value : '')).split('\n').map((it) => it.trim())
  return lines.flatMap((line) => hiddenWords(`"${key}": ${line}`, maskLine([`"${key}": ${line}`], 0)))
}

/** A file's text without them, at the same width: where its values are or hold them. */
export function withoutThem(text: string, root: Located | undefined, secrets: readonly string[]): string {
  if (!root || secrets.length === 0) return text
  const seen = new Set<Located>()
  const places: Located[] = []
  const visit = (it: Located) => {
    if (seen.has(it)) return
    seen.add(it)
    for (const { value } of it.entries?.values() ?? []) visit(value)
    for (const item of it.items ?? []) visit(item)
    if (it.file === root.file && !it.entries && !it.items) places.push(it)
  }
  visit(root)
  const hide = hiding(secrets, (word) => '*'.repeat(word.length))
  const parts: string[] = []
  let at = 0
  for (const { start, end } of places.toSorted((a, b) => a.start - b.start)) {
    if (start < at) continue
    parts.push(text.slice(at, start), hide(text.slice(start, end)))
    at = end
  }
  return parts.join('') + text.slice(at)
}
