import type { ClusterEvent } from '../model/event.ts'
import { isMap } from '../text/plain-data.ts'
import { COST, type Condition, type ConditionCompiler } from './condition.ts'
import { type Compiled, compiled, type Fault, under } from './fault.ts'
import { parsePath, type ValuePath } from './path.ts'
import { differs, textOf, valuesAt } from './path-values.ts'
import { compilePatterns, type Patterns, type Test } from './pattern.ts'

type OldObject = Readonly<Record<string, unknown>>

/** `changed`, `unchanged`: compare paths of a MODIFIED. If the previous object is unknown, neither matches. */
export const changedConditions: ConditionCompiler = ({ changed, unchanged }) => {
  const conditions: Condition[] = []
  const faults: Fault[] = []
  for (const [name, paths, wanted] of [
    ['changed', changed, true],
    ['unchanged', unchanged, false],
  ] as const) {
    if (paths === undefined) continue
    const result = compilePaths(paths)
    if (!result.ok) faults.push(...under([name], result.faults))
    else
      conditions.push(isModified(name), {
        name,
        path: [name],
        cost: COST.old,
        edge: true,
        test: modified(
          (event, old) => result.value.some((path) => differs(path, old, event.object)) === wanted,
        ),
        seen: (event) => before(event, () => seenChanges(result.value, event) ?? NOTHING_CHANGED),
      })
  }
  return faults.length > 0 ? { ok: false, faults } : compiled({ conditions })
}

/** `from`, `to-state`: the object entered or left a state. */
export const stateConditions: ConditionCompiler = (rule) => {
  const from = rule.from && compileStates(rule.from)
  const to = rule['to-state'] && compileStates(rule['to-state'])
  const faults = [
    ...(from && !from.ok ? under(['from'], from.faults) : []),
    ...(to && !to.ok ? under(['to-state'], to.faults) : []),
  ]
  if (faults.length > 0) return { ok: false, faults }
  const was = from?.ok ? from.value : undefined
  const is = to?.ok ? to.value : undefined
  return compiled({
    conditions: [
      ...(is ? [level(is), entered(is)] : []),
      ...(was ? [isModified('from'), left(was, is !== undefined)] : []),
    ],
  })
}

/** Tests the object's state; a deleted object has none. */
function level(state: StateTest): Condition {
  return {
    name: 'to-state',
    path: ['to-state'],
    cost: COST.object,
    test: (event) => event.type !== 'DELETED' && state.holds(event.object),
    seen: (event) => state.seen(event.object),
  }
}

function entered(state: StateTest): Condition {
  return {
    name: 'to-state',
    path: ['to-state'],
    cost: COST.old,
    edge: true,
    test(event) {
      if (event.type === 'ADDED') return true
      const old = event.type === 'MODIFIED' ? event.oldObject : undefined
      return old !== undefined && state.entered(old, event.object)
    },
    seen: (event) => before(event, (old) => ({ before: state.seen(old) })),
  }
}

function left(state: StateTest, hasTarget: boolean): Condition {
  return {
    name: 'from',
    path: ['from'],
    cost: COST.old,
    edge: true,
    test: modified((event, old) => state.holds(old) && (hasTarget || state.entered(event.object, old))),
    seen: (event) => before(event, (old) => state.seen(old)),
  }
}

/** Tested first, so that expressions that read the previous object do not run for new objects. */
function isModified(name: string): Condition {
  return {
    name,
    path: [name],
    cost: COST.header,
    edge: true,
    test: (event) => event.type === 'MODIFIED',
    seen: (event) => before(event, () => event.type),
  }
}

const NOTHING_CHANGED = 'the same as before'

/** Returns the tested value of the previous object for reports, or why there is none. */
function before(event: ClusterEvent, seen: (old: OldObject) => unknown): unknown {
  if (event.type !== 'MODIFIED') return `${event.type}, and no change`
  const old = event.oldObject
  return old ? seen(old) : 'the object before is not known'
}

function modified(test: (event: ClusterEvent, old: OldObject) => boolean): Condition['test'] {
  return (event) => {
    const old = event.type === 'MODIFIED' ? event.oldObject : undefined
    return old !== undefined && test(event, old)
  }
}

/** `condition`: one of `status.conditions` changes its status. */
export const conditionConditions: ConditionCompiler = ({ condition }) => {
  if (!condition) return compiled({ conditions: [] })
  const { type, becomes, from, reason } = condition
  const results = { becomes: tested(becomes), from: tested(from), reason: tested(reason) }
  const faults = Object.entries(results).flatMap(([key, it]) =>
    it.ok ? [] : under(['condition', key], it.faults),
  )
  if (faults.length > 0 || !results.becomes.ok || !results.from.ok || !results.reason.ok)
    return { ok: false, faults }
  const {
    becomes: wanted,
    from: former,
    reason: because,
  } = { becomes: results.becomes.value, from: results.from.value, reason: results.reason.value }
  const holds = (object: unknown) => {
    const found = conditionOf(object, type)
    return wanted(found?.status) && because(found?.reason)
  }
  const common = { path: ['condition'], seen: (event: ClusterEvent) => conditionOf(event.object, type) }
  const now: Condition = {
    ...common,
    name: 'condition',
    cost: COST.object,
    test: (event) => event.type !== 'DELETED' && holds(event.object),
  }
  const change: Condition = {
    path: common.path,
    seen: (event) => before(event, (old) => ({ before: conditionOf(old, type) ?? null })),
    name: 'condition',
    cost: COST.old,
    edge: true,
    test(event) {
      if (event.type === 'ADDED') return from === undefined
      if (event.type !== 'MODIFIED') return false
      const old = event.oldObject
      if (!old) return from === undefined && isFresh(conditionOf(event.object, type), event.time)
      return !holds(old) && former(conditionOf(old, type)?.status)
    },
  }
  return compiled({ conditions: [now, change] })
}

function tested(patterns: Patterns | undefined): Compiled<Test> {
  return patterns === undefined ? compiled(() => true) : compilePatterns(patterns)
}

interface StatusCondition {
  status: string | undefined
  reason: string | undefined
  since: string | undefined
}

function conditionOf(object: unknown, type: string): StatusCondition | undefined {
  // Some operators append a condition to those of its type.
  const found = [...valuesAt(CONDITIONS(type), object).values()].at(-1)
  if (!isMap(found)) return undefined
  return {
    status: textOf(found['status']),
    reason: textOf(found['reason']),
    since: textOf(found['lastTransitionTime']),
  }
}

function CONDITIONS(type: string): ValuePath {
  return {
    text: `status.conditions[type=${type}]`,
    steps: [
      { is: 'member', key: 'status' },
      { is: 'member', key: 'conditions' },
      { is: 'item', key: 'type', value: type },
    ],
  }
}

const FRESH_MS = 60_000

/** Without the previous object: whether the condition changed recently by its lastTransitionTime. */
function isFresh(condition: StatusCondition | undefined, time: string): boolean {
  const ageMs = Date.parse(time) - Date.parse(condition?.since ?? '')
  return Math.abs(ageMs) <= FRESH_MS
}

function compilePaths(paths: string | readonly string[]): Compiled<readonly ValuePath[]> {
  const faults: Fault[] = []
  const parsed: ValuePath[] = []
  for (const [index, text] of [paths].flat().entries()) {
    const result = parsePath(text, typeof paths === 'string' ? 'value' : 'entry')
    if (result.ok) parsed.push(result.value)
    else faults.push(...(typeof paths === 'string' ? result.faults : under([index], result.faults)))
  }
  return faults.length > 0 ? { ok: false, faults } : compiled(parsed)
}

/** Returns the old and new values of the changed paths. */
function seenChanges(paths: readonly ValuePath[], event: ClusterEvent): unknown {
  const old = event.type === 'MODIFIED' ? event.oldObject : undefined
  if (!old) return undefined
  const changed = paths.filter((path) => differs(path, old, event.object))
  if (changed.length === 0) return undefined
  const shown = (path: ValuePath, object: unknown) => [...valuesAt(path, object).values()].slice(0, 5)
  return Object.fromEntries(
    changed.map((path) => [path.text, { old: shown(path, old), new: shown(path, event.object) }]),
  )
}

/** A state of an object: the values at its paths. */
interface StateTest {
  holds(object: unknown): boolean
  /** Whether the object is in the state, and was not before at one of the paths at least. */
  entered(old: unknown, next: unknown): boolean
  /** Returns the values at the paths. */
  seen(object: unknown): unknown
}

interface PathTest {
  path: ValuePath
  test: Test
}

/** Compiles paths with their patterns: all paths must pass; at a path with `*` one value is enough. */
function compileStates(states: Readonly<Record<string, Patterns>>): Compiled<StateTest> {
  const faults: Fault[] = []
  const tests: PathTest[] = []
  if (Object.keys(states).length === 0)
    faults.push({ path: [], message: 'is empty', hint: 'name a path: { status.phase: Failed }' })
  for (const [text, patterns] of Object.entries(states)) {
    const path = parsePath(text, 'key')
    const test = compilePatterns(patterns)
    if (!path.ok) faults.push(...path.faults.map((it) => keyFault(text, it)))
    if (!test.ok) faults.push(...under([text], test.faults))
    if (path.ok && test.ok) tests.push({ path: path.value, test: test.value })
  }
  if (faults.length > 0) return { ok: false, faults }
  const holds = (object: unknown) => tests.every((it) => passing(it, object).length > 0)
  return compiled({
    holds,
    entered: (old, next) => holds(next) && tests.some((it) => isNew(it, old, next)),
    seen: (object) =>
      Object.fromEntries(tests.map(({ path }) => [path.text, shown([...valuesAt(path, object).values()])])),
  })
}

/** Returns the keys of values that pass. An absent value passes only `!` patterns. */
function passing({ path, test }: PathTest, object: unknown): string[] {
  const values = valuesAt(path, object)
  if (values.size === 0) return test(undefined) ? [''] : []
  return [...values].filter(([, value]) => test(textOf(value))).map(([way]) => way)
}

function isNew(test: PathTest, old: unknown, next: unknown): boolean {
  const before = new Set(passing(test, old))
  return passing(test, next).some((way) => !before.has(way))
}

function keyFault(key: string, { message, hint }: Fault): Fault {
  const sentence = `the path "${key}" ${message}`
  return { path: [key], atKey: true, message: sentence, ...(hint !== undefined && { hint }) }
}

function shown(values: readonly unknown[]): unknown {
  if (values.length === 0) return null
  return values.length === 1 ? values[0] : values.slice(0, 8)
}
