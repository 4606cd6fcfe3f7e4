import type { Resource, WayStep } from '../../event.ts'
import { compileWhen } from '../conditions.ts'
import type { KindTest } from '../kind.ts'
import { listOf, type Patterns, type Rule } from '../schema.ts'
import { parsePath, type Step } from './path.ts'

/** Paths that one rule names, of the kinds that it is for. */
export interface NamedPaths {
  ofKind: KindTest
  paths: readonly Path[]
}

/** The paths that a rule names by `changed`, `from`, `to-state`, `condition`; none or one of them. The rule was checked before. */
export function namedByRule(rule: Omit<Rule, 'name'>): readonly NamedPaths[] {
  const paths = pathsOf(rule)
  if (paths.length === 0) return []
  const when = compileWhen(rule.when ?? {})
  return when.ok ? [{ ofKind: when.value.ofKind, paths }] : []
}

/**
 * Is a changed value of this resource at, above or below a path that a rule names? People who wrote the rule want to read of
 * that first.
 */
export function namedFor(
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
  const written = texts.map(parsePath).flatMap((it) => (it.ok ? [it.value.steps] : []))
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

/** Where one knows an item by its place and the other by its name, it may be the same. */
function isAt(step: Step, { label, key }: WayStep): boolean {
  if (step.is === 'any') return true
  if (step.is === 'member') return label === undefined && key === step.key
  if (label === undefined) return false
  return step.is === 'place'
    ? label !== '' || key === String(step.place)
    : label !== step.key || key === step.value
}
