import { expect, test } from 'vitest'
import type { ClusterEvent, Resource } from '../../src/event.ts'
import { compileRules, type MatchResult } from '../../src/rules/compile.ts'
import { listOf, type Patterns, type Rule, type When } from '../../src/rules/schema.ts'
import { createRandom, type Random, randomEvent, randomWhen } from './random.ts'

function randomRules(random: Random): Rule[] {
  return Array.from({ length: 1 + Math.floor(random.next() * 6) }, (_, index) => {
    const base = { name: `rule-${index}`, when: randomWhen(random) }
    const sinks = () => ['s1', 's2', 's3'].filter(() => random.next() < 0.5)
    return random.next() < 0.2 ? { ...base, drop: true } : { ...base, to: [...sinks(), 's0'] }
  })
}

/** What rules mean, written as plainly as possible. */
function slowMatch(rules: readonly Rule[], event: ClusterEvent): MatchResult {
  const sends: { sink: string; rule: string }[] = []
  for (const { name, when = {}, drop, to = [] } of rules) {
    if (!slowWhen(when, event)) continue
    if (drop) return { sends, limited: [], dropped: sends.length === 0, droppedBy: name }
    for (const sink of to) if (sends.every((send) => send.sink !== sink)) sends.push({ sink, rule: name })
  }
  return { sends, limited: [], dropped: false }
}

function slowWhen(when: When, event: ClusterEvent): boolean {
  const words = when.type === undefined ? [] : listOf(when.type)
  const changes = words.filter((word) => word === word.toUpperCase())
  const types = words.filter((word) => word !== word.toUpperCase())
  return (
    (when.kind === undefined || slowKind(listOf(when.kind), event.resource)) &&
    slowText(when.namespace, event.namespace) &&
    slowText(when.name, event.name) &&
    slowLabels(when.labels, event.labels) &&
    (changes.length === 0 || slowText(changes, event.type)) &&
    (types.length === 0 || (event.event !== undefined && slowText(types, event.event.type))) &&
    (when.reason === undefined || (event.event !== undefined && slowText(when.reason, event.event.reason))) &&
    (when.regarding === undefined ||
      (event.event !== undefined && slowText(when.regarding.name, event.event.regarding.name)))
  )
}

function slowKind(patterns: readonly string[], { kind, plural, group }: Resource): boolean {
  const names = [kind, plural, `${plural}.${group}`]
  const negative = patterns.filter((it) => it.startsWith('!')).map((it) => it.slice(1))
  const positive = patterns.filter((it) => !it.startsWith('!'))
  if (negative.some((it) => names.includes(it))) return false
  return positive.length === 0 || positive.some((it) => names.includes(it))
}

function slowLabels(wanted: When['labels'], labels: Readonly<Record<string, string>>): boolean {
  if (wanted === undefined) return true
  if (typeof wanted !== 'string')
    return Object.entries(wanted).every(([key, it]) => slowText(it, labels[key]))
  const { x } = labels
  return {
    x: x !== undefined,
    '!x': x === undefined,
    'x=a': x === 'a',
    'x!=a': x !== 'a',
    'x in (a, ab)': x === 'a' || x === 'ab',
  }[wanted]!
}

function slowText(patterns: Patterns | undefined, value: string | undefined): boolean {
  if (patterns === undefined) return true
  const positive = listOf(patterns).filter((it) => !it.startsWith('!'))
  const negative = listOf(patterns).filter((it) => it.startsWith('!'))
  if (value === undefined) return positive.length === 0
  if (negative.some((it) => slowOne(it.slice(1), value))) return false
  return positive.length === 0 || positive.some((it) => slowOne(it, value))
}

function slowOne(pattern: string, value: string): boolean {
  if (pattern.startsWith('/')) return new RegExp(pattern.slice(1, -1)).test(value)
  return new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`).test(value)
}

test('the compiled rules say what the plain meaning says, on random rules and events', () => {
  const random = createRandom(20_261_121)
  const seen = { sent: 0, dropped: 0, unmatched: 0, refused: 0 }
  for (let round = 0; round < 600; round++) {
    const rules = randomRules(random)
    let match: ReturnType<typeof compileRules>
    try {
      match = compileRules(rules, {
        onError: (_, error) => {
          throw error
        },
      })
    } catch {
      seen.refused++
      continue
    }
    for (let i = 0; i < 20; i++) {
      const event = randomEvent(random)
      const result = match(event)
      seen[result.dropped ? 'dropped' : result.sends.length > 0 ? 'sent' : 'unmatched']++
      expect(result, JSON.stringify({ rules, event }, null, 1)).toEqual(slowMatch(rules, event))
    }
  }
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(50)
})
