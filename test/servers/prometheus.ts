import { spawnSync } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { request } from 'undici'
import { waitFor } from '../wait-for.ts'
import { freePort } from './ports.ts'
import { startProgram } from './process.ts'

/** One series of an instant query. */
export interface Sample {
  metric: Readonly<Record<string, string>>
  value: [atSeconds: number, value: string]
}

export interface Alert {
  labels: Readonly<Record<string, string>>
  state: 'pending' | 'firing'
}

export interface Rule {
  type: 'alerting' | 'recording'
  name: string
  health: 'ok' | 'err' | 'unknown'
  lastError?: string
}

export interface Prometheus extends AsyncDisposable {
  readonly url: string
  /** An instant query; throws with what Prometheus says of a bad one. */
  query(expression: string): Promise<Sample[]>
  /** `label_values(series, label)` as Grafana asks it. */
  labelValues(label: string, series: string): Promise<string[]>
  alerts(): Promise<Alert[]>
  rules(): Promise<Rule[]>
}

/** From the PATH, else from where the set-up unpacks it. */
export function prometheusProgram(name: 'promtool' | 'prometheus'): string | undefined {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const dirs = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    join(cache, 'kubeherald', 'prometheus', 'usr', 'bin'),
  ]
  return dirs.map((dir) => join(dir, name)).find(isProgram)
}

export function hasPrometheus(): boolean {
  return prometheusProgram('promtool') !== undefined && prometheusProgram('prometheus') !== undefined
}

/** Runs promtool to its end. */
export function promtool(args: readonly string[], input = ''): { code: number | null; output: string } {
  const program = prometheusProgram('promtool') ?? 'promtool'
  const { status, stdout, stderr, error } = spawnSync(program, args, { input, encoding: 'utf8' })
  if (error) throw error
  return { code: status, output: `${stdout}${stderr}` }
}

/** A real Prometheus on loopback that scrapes each second, and evaluates rules as often. */
export async function startPrometheus(options: {
  /** host:port of what is scraped, by job. */
  targets: Readonly<Record<string, readonly string[]>>
  ruleFiles?: readonly string[]
}): Promise<Prometheus> {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-prometheus-'))
  const config = join(dir, 'prometheus.yml')
  writeFileSync(
    config,
    // JSON is YAML.
    JSON.stringify({
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: options.ruleFiles ?? [],
      scrape_configs: Object.entries(options.targets).map(([job, targets]) => ({
        job_name: job,
        static_configs: [{ targets }],
      })),
    }),
  )
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const program = startProgram(prometheusProgram('prometheus') ?? 'prometheus', [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(dir, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=warn',
  ])

  async function api<T>(path: string, parameters: Record<string, string> = {}): Promise<T> {
    const { body } = await request(`${url}/api/v1/${path}?${new URLSearchParams(parameters)}`)
    const answer = (await body.json()) as { status: string; data: T; error?: string }
    if (answer.status !== 'success') throw new Error(`Prometheus: ${answer.error}`)
    return answer.data
  }

  async function isReady(): Promise<boolean> {
    if (program.ended()) throw new Error(`prometheus ended: ${program.output()}`)
    const answer = await request(`${url}/-/ready`).catch(() => undefined)
    await answer?.body.dump()
    return answer?.statusCode === 200
  }

  const prometheus: Prometheus = {
    url,
    query: async (query) => (await api<{ result: Sample[] }>('query', { query })).result,
    labelValues: (label, series) => api(`label/${label}/values`, { 'match[]': series }),
    alerts: async () => (await api<{ alerts: Alert[] }>('alerts')).alerts,
    rules: async () =>
      (await api<{ groups: { rules: Rule[] }[] }>('rules')).groups.flatMap(({ rules }) => rules),
    async [Symbol.asyncDispose]() {
      await program.end('SIGKILL')
      rmSync(dir, { recursive: true, force: true })
    },
  }
  await waitFor(isReady, { what: () => `prometheus; it said ${program.output()}` }).catch(async (error) => {
    await prometheus[Symbol.asyncDispose]()
    throw error
  })
  return prometheus
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
