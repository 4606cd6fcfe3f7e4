import type { Resource, WayStep } from '../model/event.ts'
import { mentionsObject, mentionsOld, mentionsOwner } from './cel/part.ts'
import { compileTypes } from './change-values.ts'
import { isEventKind, type KindTest } from './kind.ts'
import { parsePath, type Step } from './path.ts'
import { listOf, type Patterns } from './pattern.ts'
import type { Rule } from './schema.ts'
import { compileWhen, readsDeleted } from './when.ts'

/**
 * Returns the kinds whose previous objects a rule needs: its conditions read them, or one of its sinks shows what changed
 * (`showsChanges`). The rule must be free of faults.
 */
export function kindsToStore(rule: Omit<Rule, 'name'>, showsChanges: boolean): KindTest {
  return readsPrevious(rule) || (!rule.drop && showsChanges) ? kindsThatChange(rule.when ?? {}) : NONE
}

/** Returns the test of resources whose previous objects one of the rules needs. Never Events, which describe their changes themselves. */
export function storesPrevious(kinds: readonly KindTest[]): (resource: Resource) => boolean {
  const tests = kinds.filter((it) => it !== NONE)
  return (resource) => !isEventKind(resource) && tests.some((ofKind) => ofKind(resource))
}

const NONE: KindTest = () => false

function kindsThatChange(when: NonNullable<Rule['when']>): KindTest {
  const compiled = compileWhen(when)
  const types = when.type === undefined ? undefined : compileTypes(when.type)
  if (!compiled.ok || types?.ok === false) return NONE
  const { change } = types?.value ?? {}
  return !change || change('MODIFIED') || change('DELETED') ? compiled.value.ofKind : NONE
}

function readsPrevious(rule: Omit<Rule, 'name'>): boolean {
  const keys = ['changed', 'unchanged', 'from', 'to-state', 'condition'] as const
  return (
    keys.some((key) => rule[key] !== undefined) ||
    (rule.if !== undefined && mentionsOld(rule.if)) ||
    readsDeletedObject(rule)
  )
}

function readsDeletedObject({ when = {}, if: expression }: Omit<Rule, 'name'>): boolean {
  if (when.type === undefined || !listOf(when.type).includes('DELETED')) return false
  return (
    readsDeleted(when) ||
    (expression !== undefined && (mentionsObject(expression) || mentionsOwner(expression)))
  )
}

/** The paths in a rule, and the kinds it can match. */
interface NamedPaths {
  ofKind: KindTest
  paths: readonly Path[]
}

/** Returns the paths in `changed`, `from`, `to-state` and `condition`; empty or one element. The rule must be free of faults. */
export function namedPaths(rule: Omit<Rule, 'name'>): readonly NamedPaths[] {
  const paths = pathsOf(rule)
  if (paths.length === 0) return []
  const when = compileWhen(rule.when ?? {})
  return when.ok ? [{ ofKind: when.value.ofKind, paths }] : []
}

/** Returns the test whether a changed value is at, above or below a path in a rule: notifications show these changes first. */
export function namesPath(
  named: readonly NamedPaths[],
): (resource: Resource) => ((way: readonly WayStep[]) => boolean) | undefined {
  const known = new WeakMap<Resource, ((way: readonly WayStep[]) => boolean) | null>()
  return (resource) => {
    const cached = known.get(resource)
    if (cached !== undefined) return cached ?? undefined
    const paths = named.flatMap(({ ofKind, paths }) => (ofKind(resource) ? paths : []))
    const test =
      paths.length === 0 ? null : (way: readonly WayStep[]) => paths.some((steps) => isOnWay(steps, way))
    known.set(resource, test)
    return test ?? undefined
  }
}

type Path = readonly Step[]

function pathsOf({ changed, from, 'to-state': state, condition }: Omit<Rule, 'name'>): Path[] {
  const texts = [
    ...(changed === undefined ? [] : listOf(changed as Patterns)),
    ...Object.keys({ ...from, ...state }),
  ]
  const written = texts.map((text) => parsePath(text)).flatMap((it) => (it.ok ? [it.value.steps] : []))
  return condition ? [...written, ofCondition(condition.type)] : written
}

function ofCondition(type: string): Path {
  return [
    { is: 'member', key: 'status' },
    { is: 'member', key: 'conditions' },
    { is: 'item', key: 'type', value: type },
    { is: 'member', key: 'status' },
  ]
}

function isOnWay(steps: Path, way: readonly WayStep[]): boolean {
  return steps.every((step, i) => {
    const at = way[i]
    return at === undefined || isAt(step, at)
  })
}

/** An item by its index and one by its name can be the same. */
function isAt(step: Step, { label, key }: WayStep): boolean {
  if (step.is === 'any') return true
  if (step.is === 'member') return label === undefined && key === step.key
  if (label === undefined) return step.is === 'place' && key === String(step.place)
  return step.is === 'place'
    ? label !== '' || key === String(step.place)
    : label !== step.key || key === step.value
}
