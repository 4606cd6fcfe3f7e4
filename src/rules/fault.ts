/** A fault in a part of a rule; `path` leads from the checked value to that part. */
export interface Fault {
  path: readonly (string | number)[]
  message: string
  /** The correction, if it is certain. */
  hint?: string
  /** The fault is in the key, not in its value. */
  atKey?: boolean
  /** The position in the text, from 0, and the number of characters. */
  offset?: number
  length?: number
  /** A quote in the text is not closed, which YAML may explain. */
  code?: 'open-text'
}

export type Compiled<T> = { ok: true; value: T } | { ok: false; faults: readonly Fault[] }

export function compiled<T>(value: T): Compiled<T> {
  return { ok: true, value }
}

export function faulty(
  message: string,
  where: Partial<Omit<Fault, 'message'>> = {},
): { ok: false; faults: Fault[] } {
  return { ok: false, faults: [{ path: [], message, ...where }] }
}

/** Returns the faults with paths from an outer value. */
export function under(path: Fault['path'], faults: readonly Fault[]): Fault[] {
  return faults.map((fault) => ({ ...fault, path: [...path, ...fault.path] }))
}

export function mapped<T, U>(result: Compiled<T>, build: (value: T) => U): Compiled<U> {
  return result.ok ? compiled(build(result.value)) : result
}
