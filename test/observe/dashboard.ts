import { readFileSync } from 'node:fs'

export interface Panel {
  id: number
  type: string
  title: string
  datasource?: { type: string; uid: string }
  description?: string
  gridPos: { h: number; w: number; x: number; y: number }
  fieldConfig?: { defaults: { unit?: string } }
  targets?: { refId: string; expr: string; datasource: { uid: string } }[]
  panels?: Panel[]
}

export interface Variable {
  name: string
  type: string
  definition?: string
  datasource?: { uid: string }
}

export interface Dashboard {
  title: string
  uid: string
  schemaVersion: number
  id: number | null
  panels: Panel[]
  templating: { list: Variable[] }
}

export function readDashboard(): Dashboard {
  return JSON.parse(readFileSync(new URL('../../deploy/grafana/kubeherald.json', import.meta.url), 'utf8'))
}

/** A query as Grafana sends it, with `All` chosen everywhere. */
export function asGrafanaAsks(expression: string): string {
  return expression.replaceAll('$__rate_interval', '1m').replaceAll(/\$\{?(job|watch|sink)\b\}?/g, '.*')
}

/** The metrics that an expression names, without what a histogram adds. */
export function metricsIn(expression: string): string[] {
  return (expression.match(/\b(?:kubeherald|process|nodejs)_[a-z0-9_]+/g) ?? []).map((name) =>
    name.replace(/_(bucket|count|sum)$/, ''),
  )
}
