import type { Path } from './document.ts'

/** What is read of a zod schema; a sink package may bring its own copy of zod. */
interface SchemaDef {
  shape?: Record<string, unknown>
  element?: unknown
  valueType?: unknown
  innerType?: unknown
  in?: unknown
  options?: readonly unknown[]
}

/** The keys that a zod schema knows at a path; none for schemas of another make. */
export function knownKeysAt(schema: unknown, path: Path): string[] {
  const def = (schema as { _zod?: { def?: SchemaDef } } | undefined)?._zod?.def
  if (!def) return []
  const wrapped = def.innerType ?? def.in
  if (wrapped !== undefined) return knownKeysAt(wrapped, path)
  if (def.options) return def.options.flatMap((option) => knownKeysAt(option, path))
  const [step, ...rest] = path
  if (step === undefined) return Object.keys(def.shape ?? {})
  if (def.shape) return Object.hasOwn(def.shape, step) ? knownKeysAt(def.shape[String(step)], rest) : []
  return knownKeysAt(def.element ?? def.valueType, rest)
}
