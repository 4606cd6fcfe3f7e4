import type { ClusterEvent, Resource } from '../event.ts'
import { compilePattern, PatternError, type Test } from './pattern.ts'
import type { KeySelector, Pattern, When } from './schema.ts'
import { compileSelector, type Labels } from './selector.ts'

/** One compiled condition of a rule. `cost` orders them: what parses nothing comes first. */
export interface Condition {
  name: string
  cost: number
  test(event: ClusterEvent): boolean
}

const CHANGE_TYPES = ['ADDED', 'MODIFIED', 'DELETED']
const EVENT_TYPES = ['Normal', 'Warning']

/** The conditions of a `when`, cheap ones first. Throws PatternError with the path of what is wrong. */
export function compileConditions(when: When): Condition[] {
  const conditions: Condition[] = []
  const add = (name: string, cost: number, test: Condition['test']) => conditions.push({ name, cost, test })
  const { kind, namespace, name, labels, annotations, type, reason, message, regarding } = when
  if (kind) add('kind', 0, compileKind(kind))
  if (namespace)
    add(
      'namespace',
      1,
      textOf(
        at('namespace', () => compilePattern(namespace)),
        (event) => event.namespace,
      ),
    )
  if (name)
    add(
      'name',
      1,
      textOf(
        at('name', () => compilePattern(name)),
        (event) => event.name,
      ),
    )
  if (type) addType(add, type)
  if (labels)
    add(
      'labels',
      5,
      mapOf(
        at('labels', () => compileKeys(labels)),
        (event) => event.labels,
      ),
    )
  if (annotations)
    add(
      'annotations',
      6,
      mapOf(
        at('annotations', () => compileKeys(annotations)),
        (event) => event.annotations,
      ),
    )
  if (reason)
    add(
      'reason',
      10,
      textOf(
        at('reason', () => compilePattern(reason)),
        (event) => event.event?.reason,
      ),
    )
  if (message)
    add(
      'message',
      11,
      textOf(
        at('message', () => compilePattern(message)),
        (event) => event.event?.message,
      ),
    )
  for (const field of ['kind', 'namespace', 'name'] as const) {
    const pattern = regarding?.[field]
    if (!pattern) continue
    const test = at(`regarding.${field}`, () => compilePattern(pattern))
    add(
      `regarding.${field}`,
      10,
      textOf(test, (event) => event.event?.regarding[field]),
    )
  }
  return conditions.sort((a, b) => a.cost - b.cost)
}

/** A pattern error, with the place in the rule where it stands. */
export class ConditionError extends Error {
  override name = 'ConditionError'
  readonly path: string
  readonly offset: number

  constructor(path: string, { message, offset }: PatternError) {
    super(message)
    this.path = path
    this.offset = offset
  }
}

function at<T>(path: string, compile: () => T): T {
  try {
    return compile()
  } catch (error) {
    throw error instanceof PatternError ? new ConditionError(path, error) : error
  }
}

function textOf(test: Test, read: (event: ClusterEvent) => string | undefined): Condition['test'] {
  return (event) => {
    const text = read(event)
    return text !== undefined && test(text)
  }
}

function mapOf(test: (map: Labels) => boolean, read: (event: ClusterEvent) => Labels): Condition['test'] {
  return (event) => test(read(event))
}

/** A selector as it is, or a pattern for each key; a key that is missing matches only negative patterns. */
function compileKeys(selector: KeySelector): (map: Labels) => boolean {
  if (typeof selector === 'string') return compileSelector(selector)
  const tests = Object.entries(selector).map(([key, pattern]) => ({
    key,
    test: compilePattern(pattern),
    absent: onlyNegative(pattern),
  }))
  return (map) => tests.every(({ key, test, absent }) => (map[key] === undefined ? absent : test(map[key])))
}

function onlyNegative(pattern: Pattern): boolean {
  return [pattern].flat().every((it) => it.startsWith('!'))
}

/** ADDED, MODIFIED, DELETED ask what happened; Normal, Warning ask the Event. Both may be asked at once. */
function addType(add: (name: string, cost: number, test: Condition['test']) => void, type: Pattern): void {
  const words = [type].flat()
  const bare = (word: string) => word.replace(/^!/, '')
  const change = words.filter((word) => CHANGE_TYPES.includes(bare(word)))
  const event = words.filter((word) => EVENT_TYPES.includes(bare(word)))
  const unknown = words.find((word) => !change.includes(word) && !event.includes(word))
  if (unknown !== undefined) {
    const known = [...CHANGE_TYPES, ...EVENT_TYPES].join(', ')
    throw new ConditionError('type', new PatternError(`"${bare(unknown)}" is no type: ${known}`))
  }
  if (change.length > 0) {
    const test = compilePattern(change)
    add('type', 0, (it) => test(it.type))
  }
  if (event.length > 0)
    add(
      'type',
      10,
      textOf(compilePattern(event), (it) => it.event?.type),
    )
}

/** A kind is spelled as in `watch`: Kind, plural, with group or without, in any case. */
function compileKind(pattern: Pattern): Condition['test'] {
  const words = [pattern].flat()
  const test = at('kind', () => compilePattern(words.map(lower)))
  const known = new Map<Resource, boolean>()
  return ({ resource }) => {
    let matches = known.get(resource)
    if (matches === undefined) {
      matches = matchesAny(test, words, spellingsOf(resource))
      known.set(resource, matches)
    }
    return matches
  }
}

function matchesAny(test: Test, words: readonly string[], spellings: readonly string[]): boolean {
  // A negative word must hold for every spelling, a positive one for any.
  return words.every((word) => word.startsWith('!')) ? spellings.every(test) : spellings.some(test)
}

function spellingsOf({ kind, plural, group, version }: Resource): string[] {
  const path = group === '' ? version : `${group}/${version}`
  const names = [kind, plural, `${path}/${kind}`]
  if (group !== '')
    names.push(`${plural}.${group}`, `${kind}.${group}`, `${plural}.${version}.${group}`, `${group}/${kind}`)
  return [...names, ...names.map(lower)]
}

function lower(word: string): string {
  return word.startsWith('/') || word.startsWith('!/') ? word : word.toLowerCase()
}
