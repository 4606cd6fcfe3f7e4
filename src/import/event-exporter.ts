import { receiverSink } from './event-exporter-receivers.ts'
import type { Imported, ImportedRule, Noted } from './imported.ts'
import { namer } from './names.ts'
import { type AtLeast, type Clause, conditionsOf, isExpression, type Predicate } from './predicate.ts'
import { listOf, mapOf, type Raw, textOf } from './read.ts'

const HEADING = [
  'Made of a configuration of kubernetes-event-exporter.',
  'Words and expressions were searched for anywhere in a text there, so they stand between slashes here: /Failed/ means FailedMount, too;',
  'write Failed for that one alone. An event reaches one sink once. Recurring Events arrive, too: throttle and count make them fewer.',
]

const DROPPED: Readonly<Record<string, string>> = {
  throttlePeriod: 'throttlePeriod dropped older events there; nothing is dropped by age here',
  maxEventAgeSeconds: 'maxEventAgeSeconds dropped older events there; nothing is dropped by age here',
  leaderElection: 'leaderElection: write leases: true to share the work between replicas',
  metricsNamePrefix: 'metricsNamePrefix: all metrics begin with kubeherald_',
}

/** Flattens its tree of routes into a list of rules that send the same. */
export function importEventExporter(raw: Raw): Imported {
  const name = namer()
  const sinks = new Map<string, { name: string; sink: Noted<Record<string, unknown>>; message?: string }>()
  for (const receiver of listOf(raw['receivers']).map(mapOf)) {
    const called = textOf(receiver['name'])
    if (!sinks.has(called)) sinks.set(called, { name: name(called), ...receiverSink(called, receiver) })
  }
  const ruleName = namer()
  const rules: Noted<ImportedRule>[] = []
  const unknown = new Set<string>()
  const used = new Set<string>()

  function walk(route: Raw, above: readonly Clause[]): void {
    const drops = listOf(route['drop']).map((rule) => ({ not: true, all: predicatesOf(mapOf(rule)) }))
    if (drops.some(({ all }) => all.length === 0)) return
    const passed = [...above, ...drops]
    const matches = listOf(route['match']).map(mapOf)
    for (const match of matches) {
      const receiver = textOf(match['receiver'])
      if (receiver === '') continue
      const sink = sinks.get(receiver)
      if (!sink) {
        unknown.add(receiver)
        continue
      }
      const own = predicatesOf(match)
      const conditions = conditionsOf([...passed, ...(own.length > 0 ? [{ all: own }] : [])])
      const notes = mapOf(match['annotations'])
      const lost =
        Object.keys(notes).length > 0
          ? ['annotations of the object cannot be asked for: this rule sends more']
          : []
      const globs = globsIn([...passed.flatMap(({ all }) => all), ...own])
      rules.push({
        value: { name: ruleName(receiver), ...conditions, to: [sink.name] },
        notes: [...lost, ...new Set(globs)],
      })
      used.add(sink.name)
    }
    const all = matches.flatMap(predicatesOf)
    for (const sub of listOf(route['routes']).map(mapOf))
      walk(sub, all.length > 0 ? [...passed, { all }] : passed)
  }
  const { drop, ...root } = mapOf(raw['route'])
  const dropped = listOf(drop).map((rule, i): Noted<ImportedRule> => {
    const all = predicatesOf(mapOf(rule))
    return {
      value: { name: ruleName(`drop-${i + 1}`), ...conditionsOf([{ all }]), drop: true },
      notes: globsIn(all),
    }
  })
  walk(root, [])

  const namespace = textOf(raw['namespace'])
  const cluster = textOf(raw['clusterName'])
  const left = Object.entries(DROPPED).flatMap(([key, words]) => (raw[key] === undefined ? [] : [words]))
  const missing = [...unknown].map(
    (receiver) => `A route names the receiver "${receiver}", which is not defined: left out.`,
  )
  return {
    heading: [...HEADING, ...left, ...missing, ...unusedOf([...sinks.values()], used)],
    ...(cluster !== '' && { cluster }),
    watch: [{ value: namespace === '' ? 'Event' : { kind: 'Event', namespaces: [namespace] } }],
    sinks: Object.fromEntries(
      [...sinks.values()].flatMap(({ name, sink }) => (used.has(name) ? [[name, sink]] : [])),
    ),
    rules: merged([...dropped, ...rules]),
  }
}

function globsIn(predicates: readonly (Predicate | AtLeast)[]): string[] {
  return predicates.flatMap((it) =>
    'key' in it && !isExpression(it.expression)
      ? [`"${it.expression}" was no expression, so it matched nothing there; it is a glob here`]
      : [],
  )
}

function unusedOf(sinks: readonly { name: string }[], used: ReadonlySet<string>): string[] {
  const names = sinks.filter(({ name }) => !used.has(name)).map(({ name }) => name)
  return names.length === 0
    ? []
    : [`No route leads to these receivers, so they were left out: ${names.join(', ')}.`]
}

const KEYS: Readonly<Record<string, Predicate['key']>> = {
  message: 'message',
  apiVersion: 'regarding.apiVersion',
  kind: 'regarding.kind',
  namespace: 'namespace',
  reason: 'reason',
  type: 'type',
  component: 'component',
  host: 'host',
}

function predicatesOf(rule: Raw): (Predicate | AtLeast)[] {
  const texts = Object.entries(KEYS).flatMap(([from, key]) => {
    const expression = textOf(rule[from])
    return expression === '' ? [] : [{ key, expression }]
  })
  const labels = Object.entries(mapOf(rule['labels'])).map(
    ([label, expression]): Predicate => ({
      key: `regarding.labels.${label}`,
      expression: textOf(expression),
    }),
  )
  const count = Number(rule['minCount'] ?? 0)
  return [...texts, ...labels, ...(count > 1 ? [{ count }] : [])]
}

/** Rules one after another that ask the same send as one. */
function merged(rules: readonly Noted<ImportedRule>[]): Noted<ImportedRule>[] {
  const result: Noted<ImportedRule>[] = []
  for (const rule of rules) {
    const last = result.at(-1)
    const { name: _a, to, ...asked } = rule.value
    const { name: _b, to: before, ...askedBefore } = last?.value ?? { name: '' }
    if (last && !rule.value.drop && JSON.stringify(asked) === JSON.stringify(askedBefore))
      last.value.to = [...new Set([...(before ?? []), ...(to ?? [])])]
    else result.push({ ...rule, value: { ...rule.value } })
  }
  return result
}
