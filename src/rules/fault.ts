/** What is wrong with a piece of a rule, and where: `path` leads from the checked value to the piece. */
export interface Fault {
  path: readonly (string | number)[]
  message: string
  /** What to write instead, when that can be told. */
  hint?: string
  /** True when the key is wrong, and not its value. */
  atKey?: boolean
  /** Where in the text it is wrong, counted from 0, and how many characters of it. */
  offset?: number
  length?: number
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

/** The same faults as seen from further out. */
export function under(path: Fault['path'], faults: readonly Fault[]): Fault[] {
  return faults.map((fault) => ({ ...fault, path: [...path, ...fault.path] }))
}

/** Builds on what was compiled, if it was. */
export function mapped<T, U>(result: Compiled<T>, build: (value: T) => U): Compiled<U> {
  return result.ok ? compiled(build(result.value)) : result
}
