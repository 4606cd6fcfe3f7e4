import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { type Program, startProgram } from '../servers/process.ts'
import { waitFor } from '../wait-for.ts'
import { type Image, prepareRoot, removeRoot } from './pod-root.ts'
import { fieldOf, fillVolume } from './volumes.ts'
import type { PodManifest } from './workload.ts'

export interface PodOptions {
  kubernetes: Kubernetes
  manifest: PodManifest
  image: Image
  /** In ConfigMaps, what differs on this machine: addresses of Services, ports. */
  rewrite?(text: string): string
  /** Where a container's port is reached: all pods share this machine's address. */
  hostPorts?: Record<number, number>
  /** Somebody else has created the pod. */
  exists?: boolean
  /** Folder of persistent volumes, which outlive the pod; without it they are gone with the pod. */
  claims?: string
}

/** A pod's first container as a process: its files and no others, its user, its environment, its probes, its end. */
export interface RunningPod extends AsyncDisposable {
  readonly name: string
  readonly pid: number
  output(): string
  ended(): boolean
  /** After its end. */
  exitCode(): number | null
  /** Asks a probe once, as the kubelet would. */
  probe(kind: 'startupProbe' | 'readinessProbe' | 'livenessProbe'): Promise<boolean>
  /** Until it is ready: startup first, then readiness. */
  ready(timeoutMs?: number): Promise<void>
  /** Brings the volumes up to date, as the kubelet does every minute. */
  refresh(): Promise<void>
  /** Runs a program in it. */
  exec(...command: string[]): { code: number; output: string }
  /** SIGTERM, and SIGKILL after its grace period; gives whether that was needed, and deletes the pod. */
  stop(): Promise<{ killed: boolean }>
  kill(): Promise<void>
  /** Resolves when it has ended by itself. */
  end(): Promise<void>
}

export async function startPod(options: PodOptions): Promise<RunningPod> {
  const { kubernetes, manifest, image, hostPorts = {} } = options
  const { name, namespace } = manifest.metadata
  const pods = `/api/v1/namespaces/${namespace}/pods`
  const pod: any = options.exists
    ? await kubernetes.request('GET', `${pods}/${name}`)
    : await kubernetes.request('POST', `${pods}?fieldValidation=Strict`, manifest)
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-pod-'))
  const container = pod.spec.containers[0]
  const context = { request: kubernetes.request, pod, rewrite: options.rewrite ?? ((text: string) => text) }
  function volumeDir(name: string): string {
    const claim = pod.spec.volumes.find((it: any) => it.name === name)?.persistentVolumeClaim
    return claim && options.claims ? join(options.claims, claim.claimName) : join(dir, 'volumes', name)
  }

  async function refresh(): Promise<void> {
    for (const volume of pod.spec.volumes) await fillVolume(volumeDir(volume.name), volume, context)
  }

  await refresh()
  const script = prepareRoot(dir, image, container.volumeMounts, volumeDir)
  const command = [...(container.command ?? image.entrypoint), ...(container.args ?? [])]
  const user = asUser(pod, container)
  const env = environmentOf(pod, container, kubernetes)
  const start = ['--mount', '--propagation', 'private', 'sh', script, ...user, ...command]
  const program: Program = startProgram('unshare', start, { env })

  async function probe(kind: 'startupProbe' | 'readinessProbe' | 'livenessProbe'): Promise<boolean> {
    const { httpGet, exec: run, tcpSocket, timeoutSeconds = 1 } = container[kind]
    if (run) return exec(...run.command).code === 0
    const named = (httpGet ?? tcpSocket).port
    const { containerPort } = container.ports.find(
      (it: any) => it.name === named || it.containerPort === named,
    )
    const port = hostPorts[containerPort] ?? containerPort
    if (tcpSocket) return connects(port)
    const limit = { headersTimeout: timeoutSeconds * 1_000 }
    const answer = await request(`http://127.0.0.1:${port}${httpGet.path}`, limit).catch(() => undefined)
    await answer?.body.dump()
    return answer !== undefined && answer.statusCode < 400
  }

  function exec(...words: string[]) {
    const target = ['--target', String(program.pid), '--mount', '--root', '--wdns=/']
    const { status, stdout, stderr } = spawnSync('nsenter', [...target, ...user, ...words], {
      env,
      encoding: 'utf8',
    })
    return { code: status ?? -1, output: stdout + stderr }
  }

  async function ready(timeoutMs = 60_000): Promise<void> {
    for (const kind of ['startupProbe', 'readinessProbe'] as const) {
      const what = () => `${kind} of ${name}; it said:\n${program.output().slice(-3_000)}`
      await waitFor(
        async () => {
          if (program.ended()) throw new Error(`${name} ended:\n${program.output().slice(-3_000)}`)
          return probe(kind)
        },
        { timeoutMs, what },
      )
    }
  }

  async function stop(): Promise<{ killed: boolean }> {
    let killed = false
    const grace = setTimeout(() => {
      killed = true
      void program.end('SIGKILL')
    }, pod.spec.terminationGracePeriodSeconds * 1_000)
    await program.end('SIGTERM')
    clearTimeout(grace)
    await kubernetes.request('DELETE', `${pods}/${name}?gracePeriodSeconds=0`)
    return { killed }
  }

  return {
    name,
    get pid() {
      return program.pid
    },
    output: program.output,
    ended: program.ended,
    exitCode: program.exitCode,
    probe,
    ready,
    refresh,
    exec,
    stop,
    kill: () => program.end('SIGKILL'),
    async end() {
      await waitFor(program.ended, {
        timeoutMs: 60_000,
        what: () => `${name} to end; it said ${program.output()}`,
      })
    },
    async [Symbol.asyncDispose]() {
      await program.end('SIGKILL')
      removeRoot(dir)
    },
  }
}

async function connects(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** What of a security context a process can be given. */
function asUser(pod: any, container: any): string[] {
  const { runAsUser, runAsGroup, fsGroup } = { ...pod.spec.securityContext, ...container.securityContext }
  const ids = [`--reuid=${runAsUser}`, `--regid=${runAsGroup}`, `--groups=${fsGroup}`]
  return ['setpriv', ...ids, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all']
}

function environmentOf(pod: any, container: any, { url }: Kubernetes): Record<string, string> {
  const { hostname, port } = new URL(url)
  const own = (container.env ?? []).map(({ name, value, valueFrom }: any) => [
    name,
    value ?? fieldOf(pod, valueFrom.fieldRef.fieldPath),
  ])
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: '/',
    HOSTNAME: pod.metadata.name,
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port,
    ...Object.fromEntries(own),
  }
}
