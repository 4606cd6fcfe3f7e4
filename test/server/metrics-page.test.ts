import { expect, test } from 'vitest'
import { createMetrics } from '../../src/metrics.ts'
import { PAGES, textOf, yamlIn } from './documentation.ts'

const PAGE = 'docs/metrics.md'
const { registry } = createMetrics()
const REGISTERED = await registry.getMetricsAsJSON()

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

test.each(PAGES)('%s names no metric that there is not', (page) => {
  const named = textOf(page).match(/\b(?:kubeherald|process|nodejs)_[a-z_]+[a-z]\b/g) ?? []
  const known = REGISTERED.map(({ name }) => name)
  const unknown = named.filter((name) => !known.includes(name.replace(/_(bucket|count|sum)$/, '')))
  expect(unknown).toEqual([])
})

interface Alerts {
  groups: { name: string; rules: { alert: string; expr: string; for?: string; annotations: object }[] }[]
}

test('the alerts are a file of Prometheus rules', () => {
  const [alerts] = yamlIn(PAGE).map(({ document }) => document.toJS() as Alerts)
  const rules = alerts?.groups.flatMap((group) => group.rules) ?? []
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
  expect(rules.length).toBeGreaterThanOrEqual(6)
  for (const { alert, expr, for: duration = '0s', annotations } of rules) {
    expect(alert).toMatch(/^Kubeherald[A-Z]\w+$/)
    expect(expr).toMatch(/(==|>) \d/)
    expect(duration).toMatch(/^\d+[smh]$/)
    expect(annotations).toHaveProperty('summary')
  }
})
