import type { z } from 'zod'
import { checkRule } from '../rules/compile.ts'
import type { Fault } from '../rules/fault.ts'
import type { Rule } from '../rules/schema.ts'
import { When } from '../rules/when.ts'
import { isMap } from '../text/plain-data.ts'
import { WatchEntry } from '../watch/schema.ts'
import { RuleWithMessage } from './schema.ts'
import type { Located } from './source-node.ts'

/** The valid parts of an entry of `watch`. */
export interface WatchDraft extends Partial<WatchEntry> {
  index: number
  /** False when a part is invalid: then what it should select is unknown. */
  complete: boolean
}

/** The valid parts of a rule. */
export interface RuleDraft extends Omit<Partial<Rule>, 'when'> {
  index: number
  /** The conditions whose values have the right type. */
  when: When
  /** Those of them that compile: the rule requires at least these. */
  sound: When
  complete: boolean
  /** The faults that `checkRule` found in its conditions. */
  faults: readonly Fault[]
}

/** The valid parts of a file, so that one mistake does not hide the others. */
export interface Draft {
  watch: readonly WatchDraft[]
  /** Undefined when there is no map of sinks. */
  sinks: readonly string[] | undefined
  rules: readonly RuleDraft[]
}

const SHAPE = RuleWithMessage.shape

const drafts = new WeakMap<Located, Draft>()

/** Several checks need the draft of a file; its rules are compiled only once. */
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

/** Returns the keys whose values are valid on their own. */
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
