import type { ClusterEvent } from '../event.ts'
import type { Compiled } from './fault.ts'
import type { KindTest } from './kind.ts'
import type { Rule } from './schema.ts'

/** One thing that a rule asks of an event. */
export interface Condition {
  /** As errors and reports call it: `regarding.kind`. */
  name: string
  /** From the rule to what it was made of: `['when', 'regarding', 'kind']`. */
  path: readonly (string | number)[]
  cost: number
  /** Asks something of the change, and not of the object as it is now. */
  edge?: boolean
  /** May throw: then the rule's `onError` decides. */
  test(event: ClusterEvent): boolean
  /** What it looked at, to be shown to people; undefined when that is not there, or not known. */
  seen?(event: ClusterEvent): unknown
  /** Where it does not hold: nobody knows whether it does, as what is around the object is not known. */
  isUnknown?(event: ClusterEvent): boolean
  /** The namespace and the type of the change decide it, whatever the object is. */
  fixed?: true
  /** It fails unless this text of the event is one of these. */
  needs?: Needs
}

/** Exact values that a condition needs, so that an index finds its rule. `key` is a label's. */
export interface Needs {
  of: 'name' | 'label' | 'reason' | 'type' | 'regarding.name' | 'regarding.namespace'
  key?: string
  values: readonly string[]
}

/** What a condition makes the event read. The cheap ones are asked first, so that most events cost no parsing. */
export const COST = {
  header: 0,
  labels: 1,
  annotations: 2,
  fields: 3,
  surroundings: 4,
  object: 5,
  expression: 6,
  old: 7,
} as const

/** What was made of some keys of a rule; all its conditions must hold. */
export interface RulePart {
  /** Can an object of this kind match at all? Asked once for each kind, not for each event. */
  ofKind?: KindTest
  conditions: readonly Condition[]
}

/** Compiles some keys of a rule; faults have paths from the rule on. */
export type PartMaker = (rule: Omit<Rule, 'name'>) => Compiled<RulePart>

/** A condition as compiled from one key of `when`; `path` leads to what was wrong. */
export type WhenCondition = Omit<Condition, 'name' | 'path' | 'test'> & {
  path: readonly string[]
  test: Compiled<Condition['test']>
}
