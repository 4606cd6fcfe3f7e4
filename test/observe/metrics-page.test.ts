import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { builtInSinks } from '../../sinks/index.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createSinkMetrics } from '../../src/sink-set/metrics.ts'
import { contextOf, optionsOf } from '../sinks/bed.ts'
import { PAGES, textOf } from './documentation.ts'

const PAGE = 'docs/metrics.md'
const { registry } = createMetrics()
const REGISTERED = await registry.getMetricsAsJSON()

/** Each type of sink, with the least that it can be opened with. */
const SINKS = {
  slack: { token: 'xoxb-1111111111-fake-token-abcdef', channel: '#a' },
  kafka: { brokers: ['127.0.0.1:1'], topic: 'a' },
  webhook: { url: 'http://127.0.0.1:1' },
  file: { path: join(tmpdir(), 'kubeherald-metrics-page', 'a.ndjson') },
  stdout: {},
}

/** What the sinks register when they are opened; nothing is delivered. */
async function registeredBySinks() {
  const own = new Registry()
  for (const [name, load] of Object.entries(builtInSinks)) {
    const type = await load()
    const options = await optionsOf(type, SINKS[name as keyof typeof SINKS])
    const sink = await type.open(options, contextOf({ metrics: createSinkMetrics(own, name, 'a') }))
    await sink.close()
  }
  return own.getMetricsAsJSON()
}
const OF_SINKS = await registeredBySinks()

/** `name type labels` of every row that describes a metric. */
const DESCRIBED = [
  ...textOf(PAGE).matchAll(
    /^\| `(kubeherald_\w+)` \| (counter|gauge|histogram)[^|]*\| ([^|]*)\| ([^|]*)\|$/gm,
  ),
].map(([, name, type, labels = '', meaning = '']) => ({
  name,
  type,
  labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label),
  meaning: meaning.trim(),
}))

interface Named {
  name: string | undefined
}
const byName = (a: Named, b: Named) => String(a.name).localeCompare(String(b.name))

test('the page describes every metric that there is, with its type and labels, and no other', () => {
  const own = REGISTERED.filter(({ name }) => name.startsWith('kubeherald_')).map(({ name, type }) => ({
    name,
    type: String(type),
    labels: (registry.getSingleMetric(name) as unknown as { labelNames: string[] }).labelNames,
  }))
  expect(DESCRIBED.map(({ name, type, labels }) => ({ name, type, labels })).toSorted(byName)).toEqual(
    own.toSorted(byName),
  )
  for (const { meaning } of DESCRIBED) expect(meaning).not.toBe('')
})

test('the page describes the metrics that sinks have of their own, with their types', () => {
  const rows = textOf(PAGE).matchAll(/^\| `(kubeherald_\w+)` \| (counter|gauge)[^|]*\| [^|]+ \|$/gm)
  const described = [...rows].map(([, name, type]) => ({ name, type }))
  const registered = OF_SINKS.map(({ name, type }) => ({ name, type: String(type) }))
  expect(described.toSorted(byName)).toEqual(registered.toSorted(byName))
})

test.each(PAGES)('%s names no metric that there is not', (page) => {
  const named = textOf(page).match(/\b(?:kubeherald|process|nodejs)_[a-z_]+[a-z]\b/g) ?? []
  const known = [...REGISTERED, ...OF_SINKS].map(({ name }) => name)
  const unknown = named.filter((name) => !known.includes(name.replace(/_(bucket|count|sum)$/, '')))
  expect(unknown).toEqual([])
})
