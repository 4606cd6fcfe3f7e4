import type { ConfigDocument, FileDocument } from '../document.ts'
import { problemsOf } from '../error-messages/zod-issues.ts'
import type { Problem } from '../problem.ts'
import { ConfigFile, IncludedFile, NEVER_DEFAULT } from '../schema.ts'

/** What is wrong with the shape of an included file; its rules and watches are checked with all others. */
export function checkIncludedFile(document: FileDocument): Problem[] {
  const { root, readable } = document
  if (!readable) return []
  if (!root || root.value === null)
    return [document.problem('empty-file', [], 'the file is empty', { severity: 'warning' })]
  if (!root.entries)
    return [document.problem('not-a-map', [], 'the file must be a map of keys and values', { hint: HINT })]
  const manifest = manifestProblem(document)
  if (manifest) return [manifest]
  const own = [...root.entries.keys()].filter((key) => !key.startsWith('x-'))
  const central = own.filter((key) => key in ConfigFile.shape && !(key in IncludedFile.shape))
  const value = root.value as Record<string, unknown>
  const rest = Object.fromEntries(
    own
      .filter((key) => !central.includes(key) && key !== 'defaults' && key !== 'include')
      .map((key) => [key, value[key]]),
  )
  const parsed = IncludedFile.safeParse(rest)
  const subject = { document, schema: IncludedFile, prefix: [] }
  return [
    ...central.map((key) =>
      document.problem('misplaced-key', [key], `"${key}" cannot stand in an included file`, {
        atKey: true,
        hint: 'it belongs into the file that includes this one',
      }),
    ),
    ...(parsed.success ? [] : problemsOf(subject, parsed.error.issues)),
  ]
}

const HINT = `an included file has the keys ${Object.keys(IncludedFile.shape).join(', ')}`

/** Returns the problems of `include` and `defaults` in any file, without those that its rules report. */
export function checkSharedKeys(document: FileDocument): Problem[] {
  const { include, defaults } = ConfigFile.shape
  const root = document.root?.entries
  const value = (key: string) => root?.get(key)?.value.value
  const never = NEVER_DEFAULT.filter((key) => root?.get('defaults')?.value.entries?.has(key))
  return [
    ...checkPart(document, 'include', include, value('include')),
    ...never.map((key) =>
      document.problem(
        'misplaced-key',
        ['defaults', key],
        `"${key}" belongs to one rule and cannot be a default`,
        {
          atKey: true,
          hint: 'set it in the rules',
        },
      ),
    ),
    ...checkPart(document, 'defaults', defaults, without(value('defaults'), never)),
  ]
}

function checkPart(
  document: FileDocument,
  key: string,
  schema: { safeParse(value: unknown): ReturnType<typeof ConfigFile.safeParse> | unknown },
  value: unknown,
): Problem[] {
  if (value === undefined) return []
  const parsed = schema.safeParse(value) as { success: boolean; error?: { issues: [] } }
  if (parsed.success || !parsed.error) return []
  return problemsOf({ document, schema, prefix: [key] }, parsed.error.issues)
}

function without(value: unknown, keys: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || keys.length === 0) return value
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)))
}

/** Returns the one problem of a file that is a Kubernetes object for kubectl, perhaps with a configuration in it. */
export function manifestProblem(document: ConfigDocument): Problem | undefined {
  const keys = document.at([])?.entries
  if (!keys?.has('apiVersion') || !keys.has('kind')) return undefined
  if (['watch', 'sinks', 'rules'].some((key) => keys.has(key))) return undefined
  const hint = keys.has('data')
    ? 'pass the text under "data" as a file'
    : 'a configuration has the keys watch, sinks and rules'
  const message = 'this is a Kubernetes manifest, not a configuration'
  return document.problem('not-a-configuration', ['apiVersion'], message, { atKey: true, hint })
}
