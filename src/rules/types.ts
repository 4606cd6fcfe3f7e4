import { listHint } from './comma.ts'
import { type Compiled, compiled, type Fault, faulty } from './fault.ts'
import { compilePatterns, type Test } from './pattern.ts'
import { listOf, type Patterns } from './schema.ts'

export const changeTypes = ['ADDED', 'MODIFIED', 'DELETED'] as const
export const eventTypes = ['Normal', 'Warning'] as const

/** What `type` asks: of the change, and of the Event. */
export interface TypeTests {
  change?: Test
  event?: Test
}

/**
 * Compiles `type`. Its two sets of words don't overlap, and each narrows by itself: `[ADDED, Warning]` is a Warning
 * that is new, `[ADDED, DELETED]` is either.
 */
export function compileTypes(patterns: Patterns): Compiled<TypeTests> {
  const words = listOf(patterns)
  const faults = words.flatMap((word, index) => wordFaults(word, typeof patterns === 'string' ? [] : [index]))
  if (faults.length > 0) return { ok: false, faults }
  const change = only(words, changeTypes)
  const event = only(words, eventTypes)
  if (!change.ok) return change
  if (!event.ok) return event
  return compiled({
    ...(change.value && { change: change.value }),
    ...(event.value && { event: event.value }),
  })
}

/** What other tools, and audit logs, call the changes. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ADDED: ['add', 'create', 'created', 'new'],
    MODIFIED: ['update', 'updated', 'modify', 'change', 'changed', 'patch'],
    DELETED: ['delete', 'remove', 'removed'],
    Warning: ['warn', 'error', 'warnings'],
  }).flatMap(([type, words]) => words.map((word) => [word, type] as const)),
)

function wordFaults(word: string, path: Fault['path']): Fault[] {
  const bare = bareOf(word)
  const known = [...changeTypes, ...eventTypes]
  if (known.some((it) => it === bare)) return []
  const lower = bare.toLowerCase()
  const meant = known.find((it) => it.toLowerCase() === lower) ?? ELSEWHERE.get(lower)
  const offset = word.length - bare.length
  if (bare.includes(',')) return faulty(`"${bare}" is no type`, { path, hint: listHint(word) }).faults
  const sort = changeTypes.some((it) => it === meant) ? changeTypes : eventTypes
  const hint = meant
    ? `write ${meant} (there are ${sort.slice(0, -1).join(', ')} and ${sort.at(-1)})`
    : `there are ${known.join(', ')}, each with "!" for not`
  return faulty(`"${bare}" is no type`, { path, hint, offset, length: Math.max(bare.length, 1) }).faults
}

function only(words: readonly string[], known: readonly string[]): Compiled<Test | undefined> {
  const chosen = words.filter((word) => known.includes(bareOf(word)))
  if (chosen.length === 0) return compiled(undefined)
  const test = compilePatterns(chosen)
  if (!test.ok || known.some((word) => test.value(word))) return test
  return faulty('matches nothing: all of its words are excluded with "!"')
}

function bareOf(word: string): string {
  return word.startsWith('!') ? word.slice(1) : word
}
