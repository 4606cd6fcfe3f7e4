import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { keysOf } from '../../src/store/keys.ts'
import { manifest } from '../cluster/workload.ts'
import { programMain } from '../program.ts'
import { deployToolsFolder } from '../servers/deploy-tools.ts'
import { type Kubernetes, kubernetesAssets } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { freePort } from '../servers/ports.ts'
import { type Program, startProgram } from '../servers/process.ts'
import { startReceiver } from '../servers/receiver.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'

const ROOT = new URL('../../', import.meta.url).pathname

/** A desk like a reader's: a cluster, a Redis, the programs of the pages on the PATH, a copy of the repository's folders. */
export interface Stage extends AsyncDisposable {
  readonly kubernetes: Kubernetes
  readonly dir: string
  /** Runs a command in a shell to its end. */
  run(command: string): Promise<{ code: number | null; output: string }>
  /** Starts one that stays, and waits until /readyz is good. */
  stay(command: string): Promise<Program>
  /** Id of a dead letter. */
  deadLetter(): Promise<string>
}

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const REFUSED = 3

/** `kubeherald.yaml` and `prod.yaml` lie there; what the sink `audit` gets is refused when a dead letter is wanted. */
export async function openStage(): Promise<Stage> {
  const stack = new AsyncDisposableStack()
  const kubernetes = stack.use(await borrowKubernetes())
  const redis = stack.use(await startRedis())
  const hook = stack.use(await startReceiver())
  hook.answer(() => ({ status: 422 }))
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-docs-'))
  stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  const port = await freePort()
  const config = `
cluster: prod-eu
redis: { url: "${redis.url}" }
server: { port: ${port} }
watch: [{ kind: ConfigMap, namespaces: default }]
sinks: { audit: { type: webhook, url: "${hook.url}" } }
rules: [{ name: all, to: audit }]
`
  for (const name of ['kubeherald.yaml', 'prod.yaml']) writeFileSync(join(dir, name), config)
  for (const name of ['deploy', 'docs']) symlinkSync(join(ROOT, name), join(dir, name))
  const env = environment(dir, kubernetes)
  let staying: Program | undefined
  let made = 0
  async function deadLetters(): Promise<string[]> {
    const entries = await redis.command('XRANGE', keysOf('prod-eu').deadLetters, '-', '+')
    return (entries as [id: string][]).map(([id]) => id)
  }
  const stage: Stage = {
    kubernetes,
    dir,
    run: (command) => run(command, dir, env),
    async stay(command) {
      const program = startProgram('bash', ['-c', `exec ${command}`], { cwd: dir, env })
      staying = program
      stack.defer(() => program.end('SIGTERM'))
      await waitFor(
        async () => {
          if (program.ended()) throw new Error(`${command} ended: ${program.output()}`)
          const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
          return answer?.ok
        },
        { timeoutMs: 30_000, what: () => `${command}: ${program.output()}` },
      )
      return program
    },
    async deadLetter() {
      const [known] = await deadLetters()
      if (known) return known
      hook.answer(() => ({ status: 422 }))
      const own = staying && !staying.ended() ? undefined : await stage.stay('kubeherald')
      for (let i = 0; i < REFUSED; i++)
        await kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, `refused-${++made}`, 0))
      await waitFor(async () => (await deadLetters()).length >= REFUSED, { what: 'dead letters' })
      hook.answer(() => ({ status: 200 }))
      await own?.end('SIGTERM')
      return (await deadLetters())[0] as string
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
  return stage
}

function environment(dir: string, kubernetes: Kubernetes): NodeJS.ProcessEnv {
  const bin = join(dir, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'kubeherald'), `#!/bin/sh\nexec ${process.execPath} ${programMain()} "$@"\n`)
  chmodSync(join(bin, 'kubeherald'), 0o755)
  const { npm_lifecycle_event, KUBEHERALD_CONFIG, ...rest } = process.env
  const folders = [bin, kubernetesAssets(), deployToolsFolder(), dirname(process.execPath), rest['PATH']]
  return {
    ...rest,
    PATH: folders.filter((it) => it && existsSync(it.split(':')[0] as string)).join(':'),
    KUBECONFIG: kubernetes.kubeconfig,
    HOME: dir,
    XDG_STATE_HOME: join(dir, 'state'),
    NO_COLOR: '1',
  }
}

async function run(command: string, cwd: string, env: NodeJS.ProcessEnv) {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', command], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}
