import * as z from 'zod'
import type { SilencedEvent, SilenceMatch } from '../../model/control.ts'
import type { ClusterEvent, EventHeader } from '../../model/event.ts'
import { nearest } from '../../text/closest-match.ts'
import { splitPatterns } from '../../text/split-patterns.ts'
import type { Condition } from '../condition.ts'
import { type Compiled, compiled, type Fault, faulty, under } from '../fault.ts'
import { type KindTest, kindOfEvent } from '../kind.ts'
import { compilePatterns, Patterns, type Test } from '../pattern.ts'
import { compileWhen, Regarding, When } from '../when.ts'

/**
 * Conditions of `when` that need only the event itself, because a stored event has no related metadata. `rule` and `sink` are those
 * of the delivery.
 */
const WHEN_KEYS = {
  kind: true,
  namespace: true,
  name: true,
  labels: true,
  annotations: true,
  type: true,
  reason: true,
  message: true,
} as const
const REGARDING_KEYS = { kind: true, namespace: true, name: true } as const

const Match = z.strictObject({
  rule: Patterns.optional(),
  sink: Patterns.optional(),
  ...When.pick(WHEN_KEYS).shape,
  regarding: Regarding.pick(REGARDING_KEYS).optional(),
})

/** The names of all conditions: `rule`, `namespace`, `regarding.name`. */
const SILENCE_KEYS: readonly string[] = [
  ...['rule', 'sink', ...Object.keys(WHEN_KEYS)],
  ...Object.keys(REGARDING_KEYS).map((key) => `regarding.${key}`),
]

/** A compiled match. */
export interface SilenceTest {
  ofRule: Test
  ofSink: Test
  /** Kind, namespace and type of the change: the same for many events. */
  ofPlace(event: SilencedEvent): boolean
  /** All other conditions. */
  ofEvent(event: SilencedEvent): boolean
  /** Without any condition: it matches everything. */
  isEmpty: boolean
}

/** Compiles a match, or returns all its faults; their paths begin at the match. */
export function compileSilence(match: SilenceMatch): Compiled<SilenceTest> {
  const parsed = Match.safeParse(match)
  if (!parsed.success) return { ok: false, faults: parsed.error.issues.flatMap(faultsOf) }
  const { rule, sink, ...rest } = parsed.data
  const when = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)) as When
  const [ofRule, ofSink, ofEvent] = [testOf(rule), testOf(sink), compileWhen(when)]
  const faults = [
    ...(ofRule.ok ? [] : under(['rule'], ofRule.faults)),
    ...(ofSink.ok ? [] : under(['sink'], ofSink.faults)),
    ...(ofEvent.ok ? [] : ofEvent.faults),
  ]
  if (!ofRule.ok || !ofSink.ok || !ofEvent.ok) return { ok: false, faults }
  const { ofKind, conditions } = ofEvent.value
  return compiled({
    ofRule: ofRule.value,
    ofSink: ofSink.value,
    ...eventTests(ofKind, conditions),
    isEmpty: rule === undefined && sink === undefined && Object.keys(when).length === 0,
  })
}

function testOf(patterns: Patterns | undefined): Compiled<Test> {
  return patterns === undefined ? compiled(() => true) : compilePatterns(patterns)
}

function eventTests(
  ofKind: KindTest,
  conditions: readonly Condition[],
): Pick<SilenceTest, 'ofPlace' | 'ofEvent'> {
  const fixed = conditions.filter((it) => it.fixed)
  const rest = conditions.filter((it) => !it.fixed).toSorted((a, b) => a.cost - b.cost)
  // They read nothing else: `WHEN_KEYS` has only conditions on the event itself.
  const passes = (some: readonly Condition[], event: SilencedEvent) =>
    some.every(({ test }) => test(event as ClusterEvent))
  return {
    ofPlace: (event) => ofKind(kindOfEvent(event)) && passes(fixed, event),
    ofEvent: (event) => passes(rest, event),
  }
}

/** Returns a stored event as the conditions read it. */
export function silencedEvent(header: EventHeader, objectJson: Buffer | string): SilencedEvent {
  const { type, apiVersion, kind, path, namespace, name, event } = header
  let metadata: { labels?: Record<string, string>; annotations?: Record<string, string> } | undefined
  const read = () => {
    metadata ??= metadataIn(objectJson)
    return metadata
  }
  return {
    type,
    apiVersion,
    kind,
    path,
    namespace,
    name,
    event,
    get labels() {
      return read().labels ?? {}
    },
    get annotations() {
      return read().annotations ?? {}
    },
  }
}

/** An object that cannot be parsed has no labels. */
function metadataIn(objectJson: Buffer | string): { labels?: Record<string, string> } {
  try {
    return (JSON.parse(objectJson.toString()) as { metadata?: object }).metadata ?? {}
  } catch {
    return {}
  }
}

function faultsOf(issue: z.core.$ZodIssue): Fault[] {
  const path = issue.path.map((it) => (typeof it === 'symbol' ? String(it) : it))
  if (issue.code !== 'unrecognized_keys')
    return [
      {
        path,
        message: issue.code === 'invalid_union' ? 'is neither a text nor a list of texts' : issue.message,
      },
    ]
  return issue.keys.map((key) => unknownKey(path, key))
}

/** Conditions of `when` that silences do not have, and why. */
const NOT_HERE = 'silences test only the event itself, not related metadata or time'

function unknownKey(path: Fault['path'], key: string): Fault {
  const name = [...path, key].join('.')
  const isCondition = path.length === 0 ? Object.hasOwn(When.shape, key) : Object.hasOwn(Regarding.shape, key)
  const near = nearest(name, SILENCE_KEYS)
  const hint = !isCondition && near ? `did you mean "${near}"?` : `one of ${SILENCE_KEYS.join(', ')}`
  const message = isCondition
    ? `is a condition of rules that silences do not have: ${NOT_HERE}`
    : 'is not a condition'
  return { path: [...path, key], atKey: true, message, hint }
}

/** `key=` or `key!=` at the beginning. */
const CONDITION = /^\s*([A-Za-z][\w.-]*)\s*(!?=)/
/** Their values are selectors, which contain "=" and ",". */
const SELECTORS = ['labels', 'annotations']

/**
 * Reads `namespace=shop, rule=crash-*`: conditions with their patterns; `a|b` is a list, `key!=a` means `!a`, except for selectors. Several
 * texts add up: all conditions must hold. The values are as in `when`, so a comma in one is possible where no `key=` follows.
 */
export function parseMatch(texts: readonly string[]): Compiled<SilenceMatch> {
  const match: Record<string, unknown> = {}
  for (const text of texts)
    for (const part of partsOf(text)) {
      const [head, key = '', operator] = CONDITION.exec(part) ?? []
      if (head === undefined)
        return faulty(`"${cut(part.trim())}" is not a condition`, {
          hint: 'write key=value, such as namespace=shop',
        })
      const value = part.slice(head.length).trim()
      if (value === '') return faulty('has no value', { path: [key], hint: `write ${key}=value` })
      if (operator === '!=' && SELECTORS.includes(key))
        return faulty('takes a selector, which has its own negation', {
          path: [key],
          hint: `such as ${key}=team!=shop, or ${key}=!team`,
        })
      const fault = setAt(match, key, patternsOf(key, value, operator === '!='))
      if (fault) return fault
    }
  return compiled(match)
}

/** Splits at commas that a condition follows; within a selector, only one that silences have. */
function partsOf(text: string): string[] {
  const parts: string[] = []
  for (const piece of text.split(',')) {
    const key = CONDITION.exec(piece)?.[1]
    const last = parts.at(-1)
    const isInSelector = last !== undefined && SELECTORS.includes(CONDITION.exec(last)?.[1] ?? '')
    const begins = key !== undefined && (!isInSelector || SILENCE_KEYS.includes(key))
    if (last === undefined || begins) parts.push(piece)
    else parts[parts.length - 1] = `${last},${piece}`
  }
  return parts.filter((it) => it.trim() !== '')
}

function patternsOf(key: string, text: string, isNegated: boolean): string | string[] {
  if (SELECTORS.includes(key)) return text
  const values = splitPatterns(text, '|').map((it) => (isNegated ? `!${it}` : it))
  return values.length === 1 ? (values[0] as string) : values
}

function setAt(match: Record<string, unknown>, key: string, value: unknown) {
  const [first = '', ...rest] = key.split('.')
  if (first === 'regarding' && rest.length === 1) {
    match['regarding'] ??= {}
    return set(match['regarding'] as Record<string, unknown>, rest[0] as string, value, key)
  }
  return set(match, key, value, key)
}

function set(map: Record<string, unknown>, name: string, value: unknown, key: string) {
  if (Object.hasOwn(map, name))
    return faulty('is given twice', { path: [key], hint: `separate values by "|": ${key}=a|b` })
  Object.defineProperty(map, name, { value, enumerable: true, configurable: true, writable: true })
  return undefined
}

function cut(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

/** Returns a match as `parseMatch` reads it, for lists and messages. */
export function matchText(match: SilenceMatch): string {
  const entries = Object.entries(match).flatMap(([key, value]): [string, unknown][] =>
    key === 'regarding' && typeof value === 'object' && value !== null
      ? Object.entries(value).map(([inner, it]) => [`regarding.${inner}`, it])
      : [[key, value]],
  )
  const textOf = (value: unknown) =>
    Array.isArray(value) ? value.join('|') : typeof value === 'string' ? value : JSON.stringify(value)
  return entries.length === 0
    ? 'everything'
    : entries.map(([key, value]) => `${key}=${textOf(value)}`).join(', ')
}
