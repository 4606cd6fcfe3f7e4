import * as z from 'zod'
import { MOST_KEYS, tooMany } from '../text/bounds.ts'
import { compileAge } from './change-values.ts'
import {
  ageMsOf,
  annotationsCondition,
  COST,
  type CompiledConditions,
  type Condition,
  type ConditionCompiler,
  labelsCondition,
  nameCondition,
  namesTest,
  needs,
  ofEvent,
  ofRegarding,
  ownerCondition,
  typeConditions,
  type WhenCondition,
} from './condition.ts'
import { type Compiled, compiled, type Fault, faulty, mapped, under } from './fault.ts'
import { compileKinds, isEventKind, type KindTest, kindOf } from './kind.ts'
import { compilePatterns, listOf, type Matched, Patterns } from './pattern.ts'
import { exactKey, KeyValues } from './selector.ts'
import {
  agesCover,
  keyValuesCover,
  kindsCover,
  ownersCover,
  patternsCover,
  typesCover,
} from './subsumption.ts'

/** One key of `when` or `regarding`: the only place that defines it. */
interface WhenKey<Schema extends z.ZodType> {
  schema: Schema
  /** For the configuration's JSON Schema. */
  description: string
  examples?: z.input<Schema>[]
  /** Returns the conditions of a value; all must hold. Only `kind` has none: it is tested once for each resource. */
  compile?(value: z.output<Schema>): readonly WhenCondition[]
  /** Whether only Events can match. */
  isForEvents?(value: z.output<Schema>): boolean
  /** Whether `wide` matches everything that `narrow` (if set) matches, if that is certain. Default: if they are equal. */
  covers?(wide: z.output<Schema>, narrow: z.output<Schema> | undefined): boolean
  /** The values that its patterns match: `config/lint` then looks for lists and expressions that were written as text. */
  lint?: Matched
  /** True if the index has what it tests. Any other is unknown of a deletion that a list found, unless the object is stored. */
  isIndexed?: true
}

const key = <Schema extends z.ZodType>(it: WhenKey<Schema>) => it

const onEvents = () => true

const REGARDING = {
  kind: key({
    schema: Patterns,
    description: 'Its kind.',
    examples: ['Pod'],
    compile: (kind) => [
      ofRegarding(
        mapped(compileKinds(kind), (test) => (ref) => test(kindOf(ref))),
        (ref) => ref.kind,
      ),
    ],
    covers: kindsCover,
  }),
  namespace: key({
    schema: Patterns,
    description: 'Its namespace.',
    compile: (namespace) => [
      {
        ...ofRegarding(namesTest(namespace, 'namespace'), (ref) => ref.namespace),
        ...needs('regarding.namespace', namespace),
      },
    ],
    covers: patternsCover,
  }),
  name: key({
    schema: Patterns,
    description: 'Its name.',
    examples: ['web-*'],
    compile: (name) => [
      { ...ofRegarding(namesTest(name, 'name'), (ref) => ref.name), ...needs('regarding.name', name) },
    ],
    covers: patternsCover,
    lint: 'name',
  }),
  labels: key({
    schema: KeyValues,
    description: 'Its labels: a Kubernetes selector, or a map of patterns.',
    examples: ['team in (shop, pay)'],
    compile: (labels) => [
      {
        ...labelsCondition(labels, (event) => event.regardingLabels),
        isUnknown: (event) => !event.regardingLabels,
      },
    ],
    covers: keyValuesCover,
    lint: 'name',
  }),
  annotations: key({
    schema: KeyValues,
    description: 'Its annotations: a Kubernetes selector, or a map of patterns.',
    examples: [{ 'team/slack': '*' }],
    compile: (annotations) => [
      {
        ...labelsCondition(annotations, (event) => event.regardingAnnotations, { anyValue: true }),
        isUnknown: (event) => !event.regardingAnnotations,
      },
    ],
    covers: keyValuesCover,
  }),
  owner: key({
    schema: Patterns,
    description: 'A controller of it, any in the chain.',
    examples: ['Deployment/web'],
    compile: (owner) => [ownerCondition(owner, (event) => event.regardingOwners)],
    covers: ownersCover,
  }),
}

export const Regarding = z.strictObject(shapeOf(REGARDING))
export type Regarding = z.infer<typeof Regarding>

const Ages = z.union([
  z.string(),
  z
    .array(z.string())
    .min(1, 'is an empty list: write "<5m" or ">=1h"')
    .max(MOST_KEYS, tooMany(MOST_KEYS, 'ages')),
])

/** All keys of `when`. A new condition is one more entry. */
const WHEN = {
  kind: key({
    isIndexed: true,
    schema: Patterns,
    description: 'The kind of the object, in any spelling: Deployment, deployments.apps, apps/v1/Deployment.',
    examples: ['Event'],
    covers: kindsCover,
  }),
  namespace: key({
    isIndexed: true,
    schema: Patterns,
    description: 'The namespace of the object.',
    examples: [['shop', 'pay-*'], '!kube-*'],
    compile: (namespace) => [{ ...nameCondition(namespace, (event) => event.namespace), fixed: true }],
    covers: patternsCover,
  }),
  namespaceLabels: key({
    isIndexed: true,
    schema: KeyValues,
    description: 'The labels of its namespace: a Kubernetes selector, or a map of patterns.',
    examples: ['env=prod'],
    compile: (labels) => [
      {
        ...labelsCondition(labels, (event) => event.namespaceLabels),
        isUnknown: (event) => event.namespace !== undefined && !event.namespaceLabels,
      },
    ],
    covers: keyValuesCover,
    lint: 'name',
  }),
  namespaceAnnotations: key({
    isIndexed: true,
    schema: KeyValues,
    description: 'The annotations of its namespace: a Kubernetes selector, or a map of patterns.',
    examples: [{ 'team/slack': '*' }],
    compile: (annotations) => [
      {
        ...labelsCondition(annotations, (event) => event.namespaceAnnotations, { anyValue: true }),
        isUnknown: (event) => event.namespace !== undefined && !event.namespaceAnnotations,
      },
    ],
    covers: keyValuesCover,
  }),
  name: key({
    isIndexed: true,
    schema: Patterns,
    description: 'The name of the object; of an Event that of the Event itself: see regarding.',
    examples: ['web-*'],
    compile: (name) => [{ ...nameCondition(name, (event) => event.name), ...needs('name', name) }],
    covers: patternsCover,
    lint: 'name',
  }),
  labels: key({
    isIndexed: true,
    schema: KeyValues,
    description: 'The labels of the object: a Kubernetes selector, or a map of patterns.',
    examples: ['team in (shop, pay)'],
    compile(labels) {
      const condition = labelsCondition(labels, (event) => event.labels)
      const exact = condition.test.ok ? exactKey(labels) : undefined
      return [{ ...condition, cost: COST.labels, ...(exact && { needs: { of: 'label', ...exact } }) }]
    },
    covers: keyValuesCover,
    lint: 'name',
  }),
  annotations: key({
    schema: KeyValues,
    description: 'The annotations of the object: a Kubernetes selector, or a map of patterns.',
    compile: (annotations) => [annotationsCondition(annotations)],
    covers: keyValuesCover,
  }),
  type: key({
    isIndexed: true,
    schema: Patterns,
    description: 'What happened: ADDED, MODIFIED, DELETED; and of an Event Normal or Warning.',
    examples: ['Warning', ['ADDED', 'DELETED']],
    compile: typeConditions,
    isForEvents: (type) => listOf(type).some((it) => /^!?(Normal|Warning)$/.test(it)),
    covers: typesCover,
  }),
  reason: key({
    schema: Patterns,
    description: 'The reason of an Event.',
    examples: [['BackOff', 'OOMKilling']],
    compile: (reason) => [
      { ...ofEvent(compilePatterns(reason), (event) => event.reason), ...needs('reason', reason) },
    ],
    isForEvents: onEvents,
    covers: patternsCover,
    lint: 'reason',
  }),
  message: key({
    schema: Patterns,
    description: 'The text of an Event.',
    examples: ['*node*'],
    compile: (message) => [ofEvent(compilePatterns(message), (event) => event.message)],
    isForEvents: onEvents,
    covers: patternsCover,
    lint: 'message',
  }),
  owner: key({
    schema: Patterns,
    description: 'A controller of the object, any in the chain: Kind/name, Kind, or */name.',
    examples: ['Deployment/web', 'CronJob'],
    compile: (owner) => [ownerCondition(owner, (event) => event.owners)],
    covers: ownersCover,
  }),
  regarding: key({
    schema: Regarding,
    description: 'The object that an Event is about.',
    examples: [{ kind: 'Pod' }],
    compile: (regarding) => conditionsOf(REGARDING, regarding),
    isForEvents: onEvents,
    covers: (wide, narrow) => narrow !== undefined && keysCover(REGARDING, wide, narrow),
  }),
  synthesized: key({
    isIndexed: true,
    schema: z.boolean(),
    description: 'true: changes found later, by comparing lists; false: changes that the watch received.',
    compile: (wanted) => [
      {
        cost: COST.header,
        edge: true,
        test: compiled((event) => event.synthesized === wanted),
        seen: (event) => event.synthesized,
      },
    ],
  }),
  age: key({
    schema: Ages,
    description: 'How long ago the object was created.',
    examples: ['<5m', '>1h'],
    compile: (age) => [
      {
        cost: COST.annotations,
        edge: true,
        test: mapped(compileAge(age), (test) => (event) => test(ageMsOf(event))),
        seen: (event) => event.created,
      },
    ],
    covers: agesCover,
  }),
}

/** The conditions of a rule's `when`: all must hold. */
export const When = z.strictObject(shapeOf(WHEN))
export type When = z.infer<typeof When>

function shapeOf<
  Keys extends Record<string, { schema: z.ZodType; description: string; examples?: unknown[] }>,
>(keys: Keys): { [Name in keyof Keys]: z.ZodOptional<Keys[Name]['schema']> } {
  const entries = Object.entries(keys).map(([name, { schema, description, examples }]) => [
    name,
    schema.optional().meta({ description, ...(examples && { examples }) }),
  ])
  return Object.fromEntries(entries)
}

/** Compiles the `when` of a rule. */
export const whenConditions: ConditionCompiler = ({ when = {} }) => {
  const result = compileWhen(when)
  return result.ok ? result : { ok: false, faults: under(['when'], result.faults) }
}

/** Compiles a `when`, or returns all its faults. */
export function compileWhen(when: When): Compiled<Required<CompiledConditions>> {
  const conditions: Condition[] = []
  const faults: Fault[] = []
  for (const { path = [], test, ...rest } of conditionsOf(WHEN, when)) {
    if (test.ok) conditions.push({ name: path.join('.'), path: ['when', ...path], test: test.value, ...rest })
    else faults.push(...under(path, test.faults))
  }
  const kinds = kindTestOf(when)
  if (!kinds.ok) faults.unshift(...under(['kind'], kinds.faults))
  faults.push(...eventOwnerFaults(when))
  if (faults.length > 0 || !kinds.ok) return { ok: false, faults }
  return compiled({ ofKind: kinds.value, conditions })
}

/** Compiles the test of the kinds that a `when` can match. */
export function kindTestOf(when: When): Compiled<KindTest> {
  const kinds = when.kind === undefined ? compiled<KindTest>(() => true) : compileKinds(when.kind)
  if (!kinds.ok || eventKeysOf(when).length === 0) return kinds
  return compiled((names) => isEventKind(names) && kinds.value(names))
}

/** Returns the keys of a `when` that only Events can match. */
export function eventKeysOf(when: When): string[] {
  return entriesOf(WHEN, when).flatMap(([name, { isForEvents }, value]) => (isForEvents?.(value) ? name : []))
}

interface LintedPatterns {
  /** From `when`: `['regarding', 'labels', 'team']`. */
  path: readonly string[]
  patterns: Patterns
  lint: Matched
}

/** Returns the patterns of a `when` that are linted. */
export function lintedPatterns({ regarding = {}, ...when }: When): LintedPatterns[] {
  const ofRegarding = lintedOf(REGARDING, regarding).map((it) => ({ ...it, path: ['regarding', ...it.path] }))
  return [...lintedOf(WHEN, when), ...ofRegarding]
}

function lintedOf(keys: object, values: object): LintedPatterns[] {
  return entriesOf(keys, values).flatMap(([name, { lint, schema }, value]) => {
    if (!lint) return []
    if ((schema as z.ZodType) !== KeyValues) return { path: [name], patterns: value as Patterns, lint }
    const labels = value as KeyValues
    if (typeof labels === 'string') return []
    return Object.entries(labels).map(([key, patterns]) => ({ path: [name, key], patterns, lint }))
  })
}

/** Returns true if every event that matches `narrow` certainly matches `wide`. Both must be free of faults. */
export function isSubsumedBy(narrow: When, wide: When): boolean {
  const isAboutEvents = eventKeysOf(narrow).length > 0
  return (
    keysCover(WHEN, wide, narrow) || (isAboutEvents && keysCover(WHEN, wide, { ...narrow, kind: 'Event' }))
  )
}

function keysCover(keys: object, wide: object, narrow: object): boolean {
  if (!Object.keys(wide).every((name) => Object.hasOwn(keys, name))) return false
  return entriesOf(keys, wide).every(([name, { covers }, value]) => {
    const other = (narrow as Record<string, never>)[name]
    return covers ? covers(value, other) : JSON.stringify(value) === JSON.stringify(other)
  })
}

/** Returns whether a condition tests what is unknown of a deletion that a list found, unless the object is stored. */
export function readsDeleted(when: When): boolean {
  return entriesOf(WHEN, when).some(([, { isIndexed, isForEvents }]) => !isIndexed && !isForEvents)
}

/** Returns the conditions of the keys that are set. */
function conditionsOf(keys: object, values: object): WhenCondition[] {
  return entriesOf(keys, values).flatMap(([name, { compile }, value]) =>
    (compile?.(value) ?? []).map((it) => ({ ...it, path: [name, ...(it.path ?? [])] })),
  )
}

/** Returns the keys that are set, in the order of the table. */
function entriesOf(keys: object, values: object): [string, WhenKey<z.ZodType<never>>, never][] {
  return Object.entries(keys).flatMap(([name, known]) => {
    const value = (values as Record<string, never>)[name]
    return value === undefined ? [] : [[name, known, value]]
  })
}

/** An Event has no controllers: `regarding.owner` is that of the object it is about. */
function eventOwnerFaults(when: When): Fault[] {
  const isOfEvents =
    eventKeysOf(when).length > 0 || (typeof when.kind === 'string' && /^(Event|events?|ev)$/.test(when.kind))
  if (when.owner === undefined || !isOfEvents) return []
  const texts = listOf(when.owner).map((it) => (/^[\w/][\w/.*-]*$/.test(it) ? it : JSON.stringify(it)))
  const asked = `owner: ${typeof when.owner === 'string' ? texts[0] : `[${texts.join(', ')}]`}`
  const hint = when.regarding ? `move it into "regarding": ${asked}` : `write regarding: { ${asked} }`
  return faulty('an Event has no owner', { path: ['owner'], atKey: true, hint }).faults
}
