import { expect, test } from 'vitest'
import { createMetrics } from '../../src/observe/metrics.ts'
import { metricsIn, type Panel, readDashboard } from './dashboard.ts'

const DASHBOARD = readDashboard()
const { panels, templating } = DASHBOARD
const { registry } = createMetrics()
const QUERIES = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const))

test('Grafana 10 can import it into any installation', () => {
  expect(DASHBOARD).toMatchObject({ title: 'kubeherald', uid: 'kubeherald', id: null })
  expect(DASHBOARD.schemaVersion).toBeGreaterThanOrEqual(38)
  const asked = [...panels, ...panels.flatMap(({ targets = [] }) => targets), ...templating.list]
  const uids = asked.flatMap(({ datasource }) => datasource?.uid ?? [])
  expect([...new Set(uids)]).toEqual(['${datasource}'])
})

test('rows and variables are those that operators look for', () => {
  const rows = panels.flatMap(({ type, title }) => (type === 'row' ? [title] : []))
  expect(rows).toEqual(['Overview', 'Watches', 'Deliveries', 'Sinks', 'Redis', 'Process'])
  expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'job', 'watch', 'sink'])
})

test('panels have ids of their own and cover no other', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  for (const panel of panels) {
    const { x, y, w, h } = panel.gridPos
    expect([x >= 0, y >= 0, w > 0, h > 0, x + w <= 24], panel.title).toEqual([true, true, true, true, true])
    expect(panels.filter((other) => overlap(panel, other)).map(({ title }) => title)).toEqual([])
  }
})

function overlap(one: Panel, other: Panel): boolean {
  const [a, b] = [one.gridPos, other.gridPos]
  return one.id < other.id && a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
}

test('every panel that is no row has a unit, and targets with letters of their own', () => {
  for (const { type, title, targets = [], fieldConfig } of panels) {
    if (type === 'row') continue
    expect(targets.length, title).toBeGreaterThan(0)
    expect(new Set(targets.map(({ refId }) => refId)).size, title).toBe(targets.length)
    if (type !== 'heatmap') expect(fieldConfig?.defaults.unit, title).toMatch(/^\w+$/)
  }
})

test.each(QUERIES)('%s asks for metrics that there are: %s', (_, expr) => {
  const ofSinks = /^kubeherald_(slack|file)_/
  const known = (name: string) => registry.getSingleMetric(name) || ofSinks.test(name)
  expect(metricsIn(expr).length).toBeGreaterThan(0)
  expect(metricsIn(expr).filter((name) => !known(name))).toEqual([])
  expect(expr).toContain('job=~"$job"')
})
