import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parse, stringify } from 'yaml'
import { programMain } from '../program.ts'
import { freePort } from '../servers/ports.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import { type ApplyBed, startApplyBed } from './apply.ts'
import { type RunningPod, startPod } from './pod.ts'
import type { Image } from './pod-root.ts'
import type { Manifest } from './render.ts'
import { type PodManifest, podsOf } from './workload.ts'

/** A real API server, a receiver, and pods of what is applied, as processes. */
export interface PodBed extends ApplyBed {
  hook: Receiver
  /** Applies manifests and starts the pods that controllers would make of them, Redis first; all are ready then. */
  start(manifests: readonly Manifest[], options?: { redisUrl?: string }): Promise<RunningPod[]>
  startPods(manifests: readonly PodManifest[]): Promise<RunningPod[]>
  /** Takes over a pod that somebody else created, runs it to its end, and tells the API server how it ended. */
  complete(manifest: PodManifest): Promise<RunningPod>
  /** What people would be told of a Warning with this name. */
  warn(namespace: string, name: string): Promise<void>
  /** Has the receiver got it? */
  told(name: string): boolean
}

export async function startPodBed(): Promise<PodBed> {
  const stack = new AsyncDisposableStack()
  const claims = mkdtempSync(join(tmpdir(), 'kubeherald-claims-'))
  stack.defer(() => rmSync(claims, { recursive: true, force: true }))
  const image = heraldImage()
  const bed = stack.use(await startApplyBed())
  const hook = stack.use(await startReceiver())
  const { kubernetes } = bed
  /** Of each pod, by namespace and name: one that takes its place is reached where it was. */
  const ports = new Map<string, number>()
  let redisPort = 0
  let redisUrl: string | undefined

  async function launch(manifest: PodManifest, exists = false): Promise<RunningPod> {
    const isRedis = isRedisPod(manifest)
    const place = `${manifest.metadata.namespace}/${manifest.metadata.name}`
    const port = ports.get(place) ?? (await freePort())
    ports.set(place, port)
    if (isRedis) redisPort = port
    const rewrite = (text: string) =>
      isRedis ? redisHere(text, port) : configHere(text, port, redisUrl ?? `redis://127.0.0.1:${redisPort}`)
    const pod = await startPod({
      kubernetes,
      manifest,
      image: isRedis ? REDIS_IMAGE : image,
      rewrite,
      hostPorts: { [isRedis ? 6379 : 9464]: port },
      exists,
      claims: join(claims, manifest.metadata.namespace ?? ''),
    })
    return stack.use(pod)
  }

  async function startPods(manifests: readonly PodManifest[]): Promise<RunningPod[]> {
    const running: RunningPod[] = []
    for (const manifest of manifests.toSorted((a, b) => Number(isRedisPod(b)) - Number(isRedisPod(a)))) {
      const pod = await launch(manifest)
      await pod.ready()
      running.push(pod)
    }
    return running
  }

  return {
    ...bed,
    hook,
    startPods,
    async start(manifests, options = {}) {
      redisUrl = options.redisUrl
      const lasting = manifests.filter(({ kind }) => kind !== 'Pod')
      await bed.apply(lasting)
      return startPods(podsOf(lasting))
    },
    async complete(manifest) {
      const pod = await launch(manifest, true)
      await pod.end()
      const phase = pod.exitCode() === 0 ? 'Succeeded' : 'Failed'
      await kubernetes.request('PATCH', `${await bed.pathOf(manifest)}/status`, { status: { phase } })
      return pod
    },
    async warn(namespace, name) {
      const involvedObject = { kind: 'Pod', namespace, name: 'web-1' }
      const event = { type: 'Warning', reason: 'BackOff', message: 'Back-off restarting', involvedObject }
      await kubernetes.request('POST', `/api/v1/namespaces/${namespace}/events`, {
        metadata: { name },
        ...event,
      })
    },
    told: (name) => hook.requests.some(({ status, body }) => status === 200 && body.includes(`"${name}"`)),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** The files and the entry point of the image, with this machine's Node. */
function heraldImage(): Image {
  return {
    files: { '/app/': dirname(programMain()), '/nodejs/bin/node': process.execPath },
    entrypoint: ['/nodejs/bin/node', '--max-semi-space-size=4', '--heap-growing-percent=100', '/app/main.js'],
  }
}

/** redis-server of this machine stands in for that of the image. */
const REDIS_IMAGE: Image = { files: {}, entrypoint: [] }

function isRedisPod({ metadata }: PodManifest): boolean {
  return metadata.labels?.['app.kubernetes.io/component'] === 'redis'
}

/** All pods share this machine's loopback address, so each has a port of its own. */
function redisHere(text: string, port: number): string {
  return text
    .replace(/^port 6379$/m, `bind 127.0.0.1\nport ${port}`)
    .replace('redis-cli', `redis-cli -p ${port}`)
}

function configHere(text: string, port: number, redisUrl: string): string {
  if (!text.includes('watch:')) return text
  const config = parse(text)
  config.server = { host: '127.0.0.1', port }
  if (/^redis:\/\/[a-z-]+:6379$/.test(config.redis.url)) config.redis.url = redisUrl
  return stringify(config)
}
