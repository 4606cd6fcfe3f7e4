import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { dieWithUs, end } from './processes.ts'

const ROOT = new URL('../..', import.meta.url).pathname
let built = false

/** Builds what ships, once a run: an old one would be measured otherwise. */
export function buildBundle(): void {
  if (built) return
  const { status } = spawnSync(process.execPath, ['deploy/build/bundle.mjs'], { cwd: ROOT, stdio: 'inherit' })
  if (status !== 0) throw new Error(`the bundle cannot be built (${status})`)
  built = true
}

export interface Bundle extends AsyncDisposable {
  child: ChildProcess
  /** When it was started, by performance.now(). */
  startedMs: number
  residentMb(): number
  /** The largest so far. */
  peakMb(): number
  /** Processor time in seconds, and system calls that write (files, sockets, wake-ups), so far. */
  usage(): { cpuSeconds: number; writes: number }
}

export interface BundleOptions {
  /** Kinds, as in a list. */
  watch?: string | undefined
  kubeconfig?: string | undefined
  /** Sinks and rules in place of the one sink, as YAML. */
  routing?: string | undefined
  /** The port of the page and the API; undefined for no server. */
  port?: number | undefined
  /** In front of the command. */
  launcher?: readonly string[] | undefined
}

/** Runs the bundle as its users do: all objects of a kind to one sink, pods of a feed unless something else is given. */
export function runBundle(
  feed: string,
  redisUrl: string,
  sink: string,
  { watch = 'Pod', kubeconfig, routing, port, launcher = [] }: BundleOptions = {},
): Bundle {
  const files = writeFiles(feed, redisUrl, sink, { watch, routing, port })
  const env = {
    ...process.env,
    PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
    KUBECONFIG: kubeconfig ?? files.kubeconfig,
  }
  const startedMs = performance.now()
  const [command = '', ...args] = [...launcher, join(ROOT, 'dist/main.js'), 'run', '--config', files.config]
  const child = spawn(command, args, { env, stdio: 'ignore' })
  const release = dieWithUs(child)
  return {
    child,
    startedMs,
    residentMb: () => statusMb(child.pid, 'VmRSS'),
    peakMb: () => statusMb(child.pid, 'VmHWM'),
    usage: () => usageOf(child.pid),
    async [Symbol.asyncDispose]() {
      await end(child)
      release()
      files.remove()
    },
  }
}

function statusMb(pid: number | undefined, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1_024
}

/** Linux counts processor time for programs in hundredths of a second. */
const TICKS_PER_SECOND = 100

/** See proc(5): of the process with all of its threads, without its children. */
function usageOf(pid: number | undefined): { cpuSeconds: number; writes: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const writes = Number(/syscw: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
  return { cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND, writes }
}

/** A kubeconfig for a feed, and a configuration that sends everything of it to a sink. */
export function writeFiles(
  feed: string,
  redisUrl: string,
  sink: string,
  { watch = 'Pod', routing, port }: Pick<BundleOptions, 'watch' | 'routing' | 'port'> = {},
) {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-bench-'))
  const [config, kubeconfig] = [join(dir, 'kubeherald.yaml'), join(dir, 'kubeconfig')]
  writeFileSync(
    config,
    `cluster: bench
redis: { url: "${redisUrl}" }
server: ${port === undefined ? false : `{ port: ${port} }`}
watch: [${watch}]
${routing ?? `sinks: { out: ${sink} }\nrules: [{ name: all, to: [out] }]`}
`,
  )
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      'current-context': 'bench',
      contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
      clusters: [{ name: 'bench', cluster: { server: feed } }],
      users: [{ name: 'bench', user: {} }],
    }),
  )
  return { config, kubeconfig, remove: () => rmSync(dir, { recursive: true, force: true }) }
}
