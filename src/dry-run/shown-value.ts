import { printable } from '../printable.ts'
import { isPlainMap } from './plain.ts'

const MOST = 100

/** A value in one short line, safe on a terminal: texts as they are, lists and maps with commas. */
export function shownValue(value: unknown, most = MOST): string {
  const text = printable(words(value, 0))
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}

function words(value: unknown, depth: number): string {
  if (value === undefined || value === null) return '(none)'
  if (typeof value === 'string') return value === '' ? '""' : value.slice(0, 2 * MOST)
  if (typeof value !== 'object') return String(value)
  if (value instanceof Date) return value.toISOString()
  if (depth > 3) return '…'
  const first = <T>(items: readonly T[], of: (item: T) => string) => items.slice(0, MOST).map(of).join(', ')
  if (Array.isArray(value)) {
    const items = first(value, (it) => words(it, depth + 1))
    return depth === 0 ? items || '(none)' : `[${items}]`
  }
  if (!isPlainMap(value)) return String(value)
  const entries = first(Object.entries(value), ([key, it]) => `${key}: ${words(it, depth + 1)}`)
  return depth === 0 ? entries || '(none)' : `{ ${entries} }`
}
