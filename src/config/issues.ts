import type { z } from 'zod'
import type { SchemaIssue } from '../sink/index.ts'
import type { ConfigDocument, Path } from './document.ts'
import type { Problem } from './problem.ts'
import { suggestion } from './suggest.ts'

/** What a schema found, in words for people, each at its place in the file. */
export function problemsOf(
  document: ConfigDocument,
  issues: readonly SchemaIssue[],
  schema: unknown,
  prefix: Path,
  ignoredKeys: readonly string[] = [],
): Problem[] {
  return issues.flatMap((issue) => {
    const own = (issue.path ?? []).map((step) => (typeof step === 'object' ? step.key : step))
    const path = [...prefix, ...own]
    const zod = issue as Partial<z.core.$ZodIssue> & SchemaIssue
    if (zod.code === 'unrecognized_keys') {
      const known = keysAt(schema, own).concat(prefix.length > 0 ? ignoredKeys : [])
      return (zod.keys ?? [])
        .filter((key) => !ignoredKeys.includes(key))
        .map((key) =>
          document.problem([...path, key], `unknown key "${key}"${suggestion(key, known)}`, { atKey: true }),
        )
    }
    if (zod.code === 'invalid_key')
      return [document.problem(path, `"${String(own.at(-1))}": ${innerMessage(zod)}`, { atKey: true })]
    return [document.problem(path, sentence(zod, path, document))]
  })
}

function innerMessage(issue: { issues?: readonly { message: string }[]; message: string }): string {
  return issue.issues?.[0]?.message ?? issue.message
}

function sentence(
  issue: Partial<z.core.$ZodIssue> & SchemaIssue,
  path: Path,
  document: ConfigDocument,
): string {
  const name =
    path.length === 0
      ? 'the file'
      : `"${String(path.findLast((step) => typeof step === 'string') ?? path.at(-1))}"`
  switch (issue.code) {
    case 'invalid_type':
      return isMissing(path, document)
        ? `${name} is missing`
        : `${name} must be ${WORDS[issue.expected ?? ''] ?? issue.expected}`
    case 'invalid_value':
      return `${name} must be ${(issue.values ?? []).map((it) => JSON.stringify(it)).join(' or ')}`
    case 'too_small':
      return issue.origin === 'number' || issue.origin === 'int'
        ? `${name} must be at least ${issue.minimum}`
        : `${name} is empty`
    case 'too_big':
      return `${name} must be at most ${issue.maximum}`
    case 'invalid_union':
      return isMissing(path, document) ? `${name} is missing` : `${name} ${unionOf(issue, path)}`
    default:
      return `${name}: ${issue.message}`
  }
}

/** The branch that got furthest says best what is wrong; else what may stand here. */
function unionOf(issue: Partial<z.core.$ZodIssueInvalidUnion>, path: Path): string {
  const branches = (issue.errors ?? []).flat()
  const deep = branches.find(
    ({ code, path: at }) => at.length > 0 || (code !== 'invalid_type' && code !== 'invalid_value'),
  )
  if (deep?.code === 'unrecognized_keys') return `has an unknown key "${deep.keys[0]}"`
  if (deep && deep.code !== 'invalid_type')
    return deep.message === 'Invalid input' ? 'is not understood' : deep.message
  if (path.at(-1) === 'labels' || path.at(-1) === 'annotations')
    return 'must be a selector, or keys with patterns'
  return 'must be text or a list of texts'
}

function isMissing(path: Path, document: ConfigDocument): boolean {
  let value = document.value
  for (const step of path) value = (value as Record<PropertyKey, unknown> | undefined | null)?.[step]
  return value === undefined || value === null
}

const WORDS: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of keys and values',
  record: 'a map of keys and values',
}

interface ZodDef {
  type?: string
  shape?: Record<string, unknown>
  element?: unknown
  innerType?: unknown
  in?: unknown
  valueType?: unknown
  options?: unknown[]
}

/** The keys that a zod schema knows at a path. */
function keysAt(schema: unknown, path: Path): string[] {
  const def = (schema as { _zod?: { def: ZodDef } })?._zod?.def
  if (!def) return []
  if (def.innerType) return keysAt(def.innerType, path)
  if (def.in) return keysAt(def.in, path)
  if (def.options) return def.options.flatMap((option) => keysAt(option, path))
  if (def.element) return keysAt(def.element, path.slice(1))
  if (def.valueType) return keysAt(def.valueType, path.slice(1))
  if (!def.shape) return []
  return path.length === 0 ? Object.keys(def.shape) : keysAt(def.shape[String(path[0])], path.slice(1))
}
