import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createMetrics } from '../../src/observe/metrics.ts'
import { readAlerts } from './alerts.ts'
import { metricsIn } from './dashboard.ts'

const ALERTS = readAlerts()
const README = new URL('../../deploy/README.md', import.meta.url)
const UNIT_TESTS = readFileSync(new URL('../../deploy/prometheus/alerts.test.yaml', import.meta.url), 'utf8')
const { registry } = createMetrics()

test('there is an alert for each way in which things go wrong', () => {
  expect(ALERTS.map(({ alert }) => alert)).toEqual(
    expect.arrayContaining([
      'KubeheraldAbsent',
      'KubeheraldWatchNotProgressing',
      'KubeheraldLedgerUnbalanced',
      'KubeheraldSinkFailing',
      'KubeheraldDeliveriesLate',
      'KubeheraldDeadLetters',
      'KubeheraldRedisMemoryHigh',
      'KubeheraldRelistStorm',
      'KubeheraldRuleErrors',
      'KubeheraldConfigRejected',
    ]),
  )
  expect(new Set(ALERTS.map(({ alert }) => alert)).size).toBe(ALERTS.length)
})

test.each(ALERTS.map((it) => [it.alert, it] as const))('%s says how bad it is and what to do', (_, it) => {
  const { alert, expr, labels, annotations } = it
  expect(alert).toMatch(/^Kubeherald[A-Z]\w+$/)
  expect(['warning', 'critical']).toContain(labels.severity)
  expect(annotations.summary).toMatch(/^\S.{10,90}\.$/)
  expect(annotations.description).toMatch(/^\S[\s\S]{50,}\.$/)
  expect(annotations.runbook_url).toMatch(/\/deploy\/README\.md#[a-z]+$/)
  expect(annotations.runbook_url.split('#')[1]).toBe(alert.toLowerCase())
  expect(metricsIn(expr).filter((name) => !registry.getSingleMetric(name))).toEqual([])
  expect(expr).not.toMatch(/job\s*=/)
})

test.each(ALERTS.map(({ alert }) => [alert]))('the unit tests make %s fire', (alert) => {
  expect(UNIT_TESTS).toContain(`ALERTS{alertname="${alert}",alertstate="firing"`)
})

test.each(ALERTS.map(({ alert }) => [alert]))('deploy/README.md has a section for %s', (alert) => {
  const headings = [...readFileSync(README, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, title]) => title)
  expect(headings).toContain(alert)
})

test('deploy/README.md has no section for an alert that there is not', () => {
  const titles = [...readFileSync(README, 'utf8').matchAll(/^#+ (Kubeherald[A-Z]\w+)$/gm)].map(
    ([, title]) => title,
  )
  expect(titles.filter((title) => !ALERTS.some(({ alert }) => alert === title))).toEqual([])
})
