import type { z } from 'zod'
import { checkRule } from '../rules/compile.ts'
import type { Fault } from '../rules/fault.ts'
import { type Rule, When } from '../rules/schema.ts'
import { WatchEntry } from '../watch/schema.ts'
import type { Located } from './located.ts'
import { isMap } from './plain-data.ts'
import { RuleWithMessage } from './schema.ts'

/** An entry of `watch` as far as it can be understood. */
export interface WatchDraft extends Partial<WatchEntry> {
  index: number
  /** False when a part was not understood: then nobody knows what it would have been. */
  complete: boolean
}

/** A rule as far as it can be understood. */
export interface RuleDraft extends Omit<Partial<Rule>, 'when'> {
  index: number
  /** The conditions that were understood. */
  when: When
  /** Those of them that can be tested: a rule asks at least this. */
  sound: When
  complete: boolean
  /** What is wrong with what it asks, as `checkRule` tells it. */
  faults: readonly Fault[]
}

/** What a file says as far as it can be understood, so that one mistake does not hide the others. */
export interface Draft {
  watch: readonly WatchDraft[]
  /** Undefined when there is no map of sinks. */
  sinks: readonly string[] | undefined
  rules: readonly RuleDraft[]
}

const SHAPE = RuleWithMessage.shape

const drafts = new WeakMap<Located, Draft>()

/** A file is looked at from several sides; its rules are compiled once. */
export function draftOf(root: Located): Draft {
  const draft = drafts.get(root) ?? readDraft(root)
  drafts.set(root, draft)
  return draft
}

function readDraft(root: Located): Draft {
  const sinks = root.entries?.get('sinks')?.value.entries
  return {
    watch: itemsOf(root, 'watch').map(({ value }, index) => {
      const entry = typeof value === 'string' ? { kind: value } : value
      return { index, complete: WatchEntry.safeParse(entry).success, ...understood(WatchEntry.shape, entry) }
    }),
    sinks: sinks && [...sinks.keys()],
    rules: itemsOf(root, 'rules').map(({ value }, index) => {
      const whole = RuleWithMessage.safeParse(value)
      const { when: written, ...rest } = whole.success ? whole.data : understood(SHAPE, value)
      const when = whole.success
        ? (written ?? {})
        : understood(When.shape, isMap(value) ? value['when'] : undefined)
      const faults = checkRule({ ...rest, when })
      return { index, complete: whole.success, ...rest, when, sound: soundOf(when, faults), faults }
    }),
  }
}

function soundOf(when: When, faults: readonly Fault[]): When {
  if (faults.length === 0) return when
  const faulty = new Set(faults.flatMap(({ path: [part, key] }) => (part === 'when' ? [key] : [])))
  return Object.fromEntries(Object.entries(when).filter(([key]) => !faulty.has(key)))
}

function itemsOf(root: Located, key: string): readonly Located[] {
  return root.entries?.get(key)?.value.items ?? []
}

type Understood<Shape extends Record<string, z.ZodType>> = {
  [Key in keyof Shape]?: NonNullable<z.output<Shape[Key]>>
}

/** The keys whose values are right by themselves. */
function understood<Shape extends Record<string, z.ZodType>>(
  shape: Shape,
  value: unknown,
): Understood<Shape> {
  const result: Record<string, unknown> = {}
  if (!isMap(value)) return result as Understood<Shape>
  for (const [key, schema] of Object.entries(shape)) {
    const parsed = value[key] === undefined ? undefined : schema.safeParse(value[key])
    if (parsed?.success) result[key] = parsed.data
  }
  return result as Understood<Shape>
}
