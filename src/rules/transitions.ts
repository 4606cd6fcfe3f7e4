import type { ClusterEvent } from '../../event.ts'
import { COST, type Condition, type PartMaker } from '../condition.ts'
import { type Compiled, compiled, type Fault, under } from '../fault.ts'
import { compilePatterns, type Test } from '../pattern.ts'
import { listOf, type Patterns } from '../schema.ts'
import { templateOf, withoutDoubleStar } from './double-star.ts'
import { parsePath, type ValuePath } from './path.ts'
import { differs, textOf, valuesAt } from './read.ts'
import { compileStates, type StateTest } from './states.ts'

type OldObject = Readonly<Record<string, unknown>>

/** `changed`, `unchanged`: what a MODIFIED did to paths. Where the old object is not known, neither holds. */
export const changedPart: PartMaker = ({ changed, unchanged, when }) => {
  const conditions: Condition[] = []
  const faults: Fault[] = []
  for (const [name, paths, wanted] of [
    ['changed', changed, true],
    ['unchanged', unchanged, false],
  ] as const) {
    if (paths === undefined) continue
    const result = compilePaths(paths, when?.kind)
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

/** `from`, `to-state`: the object came into a state, or left one. */
export const statePart: PartMaker = (rule) => {
  const kind = rule.when?.kind
  const from = rule.from && compileStates(rule.from, kind)
  const to = rule['to-state'] && compileStates(rule['to-state'], kind)
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

/** What holds of the object as it is now; of one that is gone nothing does. */
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

/** Asked first, so that a new object costs no expression, which may look at a former state that it has not. */
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

/** What a condition saw that looks at the state before; where there is none, why. */
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

/** `condition`: one of `status.conditions` becomes what is asked. */
export const conditionPart: PartMaker = ({ condition }) => {
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

/** No patterns let everything pass. */
function tested(patterns: Patterns | undefined): Compiled<Test> {
  return patterns === undefined ? compiled(() => true) : compilePatterns(patterns)
}

interface StatusCondition {
  status: string | undefined
  reason: string | undefined
  since: string | undefined
}

function conditionOf(object: unknown, type: string): StatusCondition | undefined {
  const found = valuesAt(CONDITIONS(type), object).values().next().value as
    | Record<string, unknown>
    | undefined
  if (typeof found !== 'object' || found === null) return undefined
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

/** Where the old object is not known: has it only just become so, by its own clock? */
function isFresh(condition: StatusCondition | undefined, time: string): boolean {
  const ageMs = Date.parse(time) - Date.parse(condition?.since ?? '')
  return Math.abs(ageMs) <= FRESH_MS
}

function compilePaths(
  paths: string | readonly string[],
  kind: Patterns | undefined,
): Compiled<readonly ValuePath[]> {
  const faults: Fault[] = []
  const parsed: ValuePath[] = []
  for (const [index, text] of listOf(paths as Patterns).entries()) {
    const result = parsePath(text)
    if (result.ok) parsed.push(result.value)
    else {
      const full = withoutDoubleStar(text, kind)
      const told =
        full === undefined
          ? result.faults.map((it) => inTemplate(it, kind))
          : result.faults.map((it) => inFull(it, text, full))
      faults.push(...(typeof paths === 'string' ? told : under([index], told.map(asEntry))))
    }
  }
  return faults.length > 0 ? { ok: false, faults } : compiled(parsed)
}

function inFull({ path, message }: Fault, text: string, full: string): Fault {
  return { path, message: `"${text}" ${message}`, hint: `write ${full}`, offset: 0, length: text.length }
}

/** Where the kind has its containers. */
function inTemplate({ hint, ...fault }: Fault, kind: Patterns | undefined): Fault {
  const below = typeof kind === 'string' ? templateOf(kind) : undefined
  const offered =
    below === undefined ? hint : hint?.replace(/^write (?=spec\.containers\b)/, `write ${below}`)
  return { ...fault, ...(offered !== undefined && { hint: offered }) }
}

/** A list that is offered for a text is more entries of a list. */
function asEntry({ hint, ...fault }: Fault): Fault {
  const offered = hint?.replace(/^write \[(.*)\]$/s, 'write an entry for each: $1')
  return { ...fault, ...(offered !== undefined && { hint: offered }) }
}

/** Of each path that is not as it was, what was and what is there. */
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
