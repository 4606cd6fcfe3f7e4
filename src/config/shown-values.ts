import { hiding } from './hiding.ts'
import type { JoinedDocument } from './joined-document.ts'
import type { Located } from './located.ts'

/** Returns a value with `${env:…}` and `${file:…}` as they are written instead of what they stand for. */
export function referencesShown(at: Located | undefined): unknown {
  if (!at || at.secrets.length === 0) return at?.value
  if (at.items) return at.items.map(referencesShown)
  if (!at.entries) return at.written ?? '***'
  return Object.fromEntries([...at.entries].map(([key, { value }]) => [key, referencesShown(value)]))
}

/** Shorter ones are parts of any text. */
const MIN_LENGTH = 3
/** A line of a text of several lines. */
const MIN_LINE = 8

/**
 * Returns a function that takes out of a text what `${env:…}` and `${file:…}` of a configuration stand for, also where JSON
 * escapes it. The name of the cluster stays: every message has it.
 */
export function secretsHider(
  document: JoinedDocument,
  placeholders: ReadonlySet<string>,
): (text: string) => string {
  const shown = new Set([...placeholders, ...(document.at(['cluster'])?.secrets ?? [])])
  const secrets = document.secrets.filter((it) => !shown.has(it))
  const lines = secrets.flatMap((it) => it.split(/\r?\n/).filter((line) => line.length >= MIN_LINE))
  const all = [...secrets.filter((it) => it.trim().length >= MIN_LENGTH), ...lines]
  const spellings = all.flatMap((it) => [it, JSON.stringify(it).slice(1, -1)])
  return spellings.length === 0 ? (text) => text : hiding([...new Set(spellings)], () => '***')
}
