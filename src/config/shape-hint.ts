import type { Located } from './located.ts'

/** What to write where a value has the wrong shape. */
export interface ShapeHint {
  hint?: string | undefined
  /** Says it better than the shape alone. */
  message?: string
  /** The key has to change. */
  atKey?: boolean
}

/** A word or number that stands so in the file, and may be shown: no secret looks like it. */
export function wordIn(found: Located | undefined): string | undefined {
  if (!found || found.written !== undefined) return undefined
  const text = found.source ?? (typeof found.value === 'string' ? found.value : '')
  return /^[A-Za-z0-9*][A-Za-z0-9.*/_-]{0,62}$/.test(text) ? text : undefined
}
