import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { openQueue } from '../../src/cli/queue/open-queue.ts'
import { readStatus } from '../../src/store/ledger.ts'
import { programMain } from '../program.ts'
import { freePort } from '../servers/ports.ts'
import { waitFor } from '../wait-for.ts'

const STATUS_GAP_MS = 300

export interface KubeheraldOptions {
  /** YAML of the configuration, without `server`. */
  config: string
  kubeconfig?: string
  args?: readonly string[]
  env?: Record<string, string>
  /** A built program, run by its first line as users do, instead of the sources. */
  main?: string
  /** Don't wait until /readyz says ok. */
  unready?: boolean
}

export interface StartOptions {
  /** Don't wait until /readyz says ok. */
  unready?: boolean
  /** A command in front of it, such as one that limits its memory. */
  launcher?: readonly string[]
}

/** A kubeherald in a process of its own, as users run it. */
export interface Kubeherald extends AsyncDisposable {
  readonly pid: number
  /** The exit code or signal it ended with; undefined while it runs. */
  ended(): number | NodeJS.Signals | undefined
  readonly url: string
  readonly dir: string
  readonly configFile: string
  /** Everything it logged so far. */
  log(): string
  ready(): Promise<boolean>
  metrics(): Promise<string>
  /** What `kubeherald status --json --verify` prints for the same configuration. */
  /** What processes report in it is up to two seconds old; the ledger is of now. */
  status(): Promise<any>
  /** Waits until no delivery is pending: an acknowledgement follows its answer by some 50 ms. Returns the ledger then. */
  settled(): Promise<any>
  /** Runs another command on the same configuration. */
  command(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }>
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number>
  /** Starts it again after kill or stop. */
  start(options?: StartOptions): Promise<void>
  signal(name: NodeJS.Signals): void
}

export async function startKubeherald(options: KubeheraldOptions): Promise<Kubeherald> {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-test-'))
  const port = await freePort()
  const configFile = join(dir, 'kubeherald.yaml')
  writeFileSync(configFile, `${options.config}\nserver: { host: 127.0.0.1, port: ${port} }\n`)
  const url = `http://127.0.0.1:${port}`
  const env = {
    ...process.env,
    PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
    ...(options.kubeconfig && { KUBECONFIG: options.kubeconfig }),
    XDG_STATE_HOME: dir,
    ...options.env,
  }
  // Its values, its kubeconfig or its state directory decide where the data is.
  const needsOwnEnvironment = options.config.includes('${') || !/^cluster: .*^redis: /ms.test(options.config)
  let child: ChildProcess | undefined
  let output = ''
  let statusAtMs = 0

  function spawnIt(args: readonly string[], launcher: readonly string[] = []): ChildProcess {
    const program = options.main ? [options.main] : [process.execPath, programMain()]
    const [command = '', ...words] = [...launcher, ...program, ...args]
    return spawn(command, words, { env, stdio: ['ignore', 'pipe', 'pipe'], cwd: dir })
  }

  async function start({ unready = false, launcher = [] }: StartOptions = {}): Promise<void> {
    const started = spawnIt(['run', '--config', configFile, ...(options.args ?? [])], launcher)
    child = started
    started.stdout?.on('data', (chunk) => {
      output += chunk
    })
    started.stderr?.on('data', (chunk) => {
      output += chunk
    })
    if (unready) return
    await waitFor(
      async () => {
        if (started.exitCode !== null || started.signalCode !== null)
          throw new Error(`kubeherald ended with ${started.exitCode ?? started.signalCode}:\n${output}`)
        return isReady()
      },
      {
        timeoutMs: 60_000,
        everyMs: 50,
        what: () => `kubeherald to be ready; it said:\n${output.slice(-3_000)}`,
      },
    )
  }

  async function isReady(): Promise<boolean> {
    const answer = await request(`${url}/readyz`).catch(() => undefined)
    await answer?.body.dump()
    return answer?.statusCode === 200
  }

  async function end(signal: NodeJS.Signals): Promise<number> {
    const running = child
    if (!running || running.exitCode !== null || running.signalCode !== null) return running?.exitCode ?? 0
    const gone = once(running, 'exit')
    running.kill(signal)
    await gone
    return running.exitCode ?? -1
  }

  async function command(...args: string[]) {
    const run = spawnIt([...args, '--config', configFile])
    let stdout = ''
    let stderr = ''
    run.stdout?.on('data', (chunk) => {
      stdout += chunk
    })
    run.stderr?.on('data', (chunk) => {
      stderr += chunk
    })
    const [code] = (await once(run, 'close')) as [number]
    return { code, stdout, stderr }
  }

  async function statusOfCommand(): Promise<unknown> {
    const { code, stdout, stderr } = await command('status', '--json', '--verify')
    if (code !== 0) throw new Error(`status ended with ${code}: ${stderr}`)
    return JSON.parse(stdout)
  }

  const kubeherald: Kubeherald = {
    get pid() {
      return child?.pid ?? -1
    },
    ended: () => child?.exitCode ?? child?.signalCode ?? undefined,
    url,
    dir,
    configFile,
    log: () => output,
    ready: isReady,
    metrics: async () => (await request(`${url}/metrics`)).body.text(),
    command,
    async status() {
      // Those that poll it must not take a core from what they wait for.
      await pause(Math.max(0, statusAtMs + STATUS_GAP_MS - Date.now()))
      statusAtMs = Date.now()
      if (needsOwnEnvironment) return statusOfCommand()
      await using queue = await openQueue({ config: configFile })
      const report = await readStatus(queue.redis, queue.keys, { verify: true, now: Date.now() })
      return JSON.parse(JSON.stringify(report))
    },
    async settled() {
      return waitFor(
        async () => {
          const { ledger } = await kubeherald.status()
          const sinks = Object.values(ledger.sinks as Record<string, { pending: number }>)
          return sinks.every(({ pending }) => pending === 0) ? ledger : undefined
        },
        { timeoutMs: 60_000, what: () => `nothing pending; ${output.slice(-3_000)}` },
      )
    },
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    signal: (name) => void child?.kill(name),
    start,
    async [Symbol.asyncDispose]() {
      await end('SIGKILL')
      rmSync(dir, { recursive: true, force: true })
    },
  }
  await start({ unready: options.unready ?? false }).catch(async (error) => {
    await kubeherald[Symbol.asyncDispose]()
    throw error
  })
  return kubeherald
}
