import type { ChangeType } from '../../event.ts'
import { nearest } from '../../nearest.ts'
import { UsageError } from '../usage-error.ts'

const TYPES: readonly ChangeType[] = ['ADDED', 'MODIFIED', 'DELETED']

export function changeTypeOf(text: string | undefined): ChangeType | undefined {
  if (text === undefined) return undefined
  const type = TYPES.find((it) => it === text.toUpperCase())
  if (type) return type
  const near = nearest(text, TYPES)
  throw new UsageError(
    `--type takes ADDED, MODIFIED or DELETED, and not "${text}"${near ? `; did you mean ${near}?` : ''}`,
  )
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/** A time with its zone, in milliseconds. */
export function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const atMs = TIME.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(atMs)) return atMs
  throw new UsageError(
    `--at takes a time such as 2026-11-21T22:30:00Z or 2026-11-21T23:30:00+01:00, and not "${text}"`,
  )
}
