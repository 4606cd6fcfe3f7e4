import { basename, dirname, extname, join } from 'node:path'

/** What is known of the file that is written to. */
export interface Current {
  bytes: number
  /** When something was last written to it. */
  writtenMs: number
}

/** Must a new file be begun before so many bytes are written? */
export function isFull(
  { bytes, writtenMs }: Current,
  more: number,
  limits: { maxSize: number; interval?: number | undefined },
  nowMs: number,
): boolean {
  if (bytes === 0) return false
  if (bytes + more > limits.maxSize) return true
  const { interval } = limits
  return interval !== undefined && Math.floor(nowMs / interval) > Math.floor(writtenMs / interval)
}

/** `events.ndjson` → `events.20261121T091407.312Z.ndjson`: names sort by time. */
export function fullName(path: string, atMs: number): string {
  const stamp = new Date(atMs).toISOString().replaceAll(/[-:]/g, '')
  const ending = extname(path)
  return join(dirname(path), `${basename(path, ending)}.${stamp}${ending}`)
}

/** When a file got its name as a full one. */
export function fullMs(path: string, name: string): number {
  const stem = `${basename(path, extname(path))}.`
  const [, date = '', hour, minute, second] =
    /^(\d{8})T(\d\d)(\d\d)(\d\d\.\d{3}Z)/.exec(name.slice(stem.length)) ?? []
  const day = `${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}`
  return Date.parse(`${day}T${hour}:${minute}:${second}`) || 0
}

/** The full files of a path among the names in its folder, the oldest first. */
export function fullFiles(path: string, names: readonly string[]): string[] {
  return names.filter((name) => kindOf(path, name) === 'full').toSorted()
}

/** What a name is to a path: one of its full files, one that is being packed, or nothing of it. */
export function kindOf(path: string, name: string): 'full' | 'part' | undefined {
  const ending = extname(path)
  const stem = `${basename(path, ending)}.`
  if (!name.startsWith(stem)) return undefined
  const found = /^\d{8}T\d{6}\.\d{3}Z(.*)$/.exec(name.slice(stem.length))
  const rest = found?.[1]
  if (rest === ending || rest === `${ending}.gz`) return 'full'
  return rest?.startsWith(`${ending}.gz.`) && rest.endsWith('.part') ? 'part' : undefined
}
