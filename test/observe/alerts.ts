import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

export interface AlertRule {
  alert: string
  expr: string
  for?: string
  labels: { severity: string }
  annotations: { summary: string; description: string; runbook_url: string }
}

interface RuleFile {
  groups: { name: string; rules: AlertRule[] }[]
}

/** The alerts that deploy/prometheus/alerts.yaml has. */
export function readAlerts(): AlertRule[] {
  const text = readFileSync(new URL('../../deploy/prometheus/alerts.yaml', import.meta.url), 'utf8')
  return (parse(text) as RuleFile).groups.flatMap(({ rules }) => rules)
}
