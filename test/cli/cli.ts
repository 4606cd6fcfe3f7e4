import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { programMain } from '../program.ts'
import { type Program, startProgram } from '../servers/process.ts'

export interface Result {
  code: number | null
  stdout: string
  stderr: string
}

/** An empty home and working directory: no configuration, no kubeconfig, no state. */
export interface Desk extends Disposable {
  readonly dir: string
  readonly env: NodeJS.ProcessEnv
  /** The working directory. */
  cwd: string
  /** Writes a file into the working directory; gives its path. */
  write(name: string, text: string): string
  /** Runs kubeherald to its end. */
  run(...args: string[]): Promise<Result>
  /** Starts kubeherald in the background. */
  start(...args: string[]): Program
}

export function openDesk(extra: NodeJS.ProcessEnv = {}): Desk {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-cli-'))
  const { KUBECONFIG, KUBEHERALD_CONFIG, KUBERNETES_SERVICE_HOST, npm_lifecycle_event, ...rest } = process.env
  const env = { ...rest, HOME: dir, XDG_STATE_HOME: join(dir, 'state'), NO_COLOR: '1', ...extra }
  const work = join(dir, 'work')
  mkdirSync(work)
  return {
    dir,
    env,
    cwd: work,
    write(name, text) {
      const file = join(work, name)
      writeFileSync(file, text)
      return file
    },
    async run(...args) {
      const child = spawn(process.execPath, [programMain(), ...args], {
        env,
        cwd: work,
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: 25_000,
        killSignal: 'SIGKILL',
      })
      let [stdout, stderr] = ['', '']
      child.stdout.on('data', (chunk) => {
        stdout += chunk
      })
      child.stderr.on('data', (chunk) => {
        stderr += chunk
      })
      const [code] = (await once(child, 'close')) as [number | null]
      return { code, stdout, stderr }
    },
    start: (...args) => startProgram(process.execPath, [programMain(), ...args], { env, cwd: work }),
    [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }),
  }
}

/** A configuration without watches on anything rare; `more` goes in front. */
export function configuration(more = ''): string {
  return `${more}
server: { port: 0 }
watch: [Event, Pod]
sinks: { screen: { type: stdout } }
rules: [{ name: all, to: [screen] }]
`
}
