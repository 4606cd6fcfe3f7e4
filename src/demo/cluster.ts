import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveApi } from './api/server.ts'
import { createStore } from './api/store.ts'
import { playDay, setUp } from './day/day.ts'
import { createWorld, type World } from './day/world.ts'
import { chanceOf } from './objects.ts'

export interface DemoCluster extends AsyncDisposable {
  url: string
  /** A kubeconfig file for it; deleted with it. */
  kubeconfig: string
  close(): Promise<void>
}

export interface DemoOptions {
  /** The same numbers give the same day. */
  random(): number
  clock: { now(): number }
  /** How many changes are remembered: a watch from before them gets 410 Gone. Default 1,000. */
  history?: number
}

const HISTORY = 1_000
const AGE_MS = 9 * 24 * 3_600_000
const FIRST_CHANGE_MS = 200

/** Starts an API server in this process, on a free loopback port, with a small cluster that changes all the time. */
export async function startDemoCluster({
  random,
  clock,
  history = HISTORY,
}: DemoOptions): Promise<DemoCluster> {
  const world = buildWorld({ random, clock, history })
  const server = await serveApi(world.store)
  const dir = await mkdtemp(join(tmpdir(), 'kubeherald-demo-'))
  const kubeconfig = join(dir, 'kubeconfig.yaml')
  await writeFile(kubeconfig, kubeconfigOf(server.url), { mode: 0o600 })
  const stop = play(world)
  const close = async () => {
    stop()
    await server[Symbol.asyncDispose]()
    await rm(dir, { recursive: true, force: true })
  }
  return { url: server.url, kubeconfig, close, [Symbol.asyncDispose]: close }
}

/** Builds a cluster that is some days old. */
export function buildWorld({ random, clock, history = HISTORY }: DemoOptions): World {
  let ageMs = AGE_MS
  const time = { now: () => clock.now() - ageMs }
  const chance = chanceOf(random)
  const world = createWorld(createStore({ chance, clock: time, history }), chance, time)
  for (const _ of setUp(world)) ageMs -= 60_000
  ageMs = 0
  world.forgetEvents()
  return world
}

function play(world: World): () => void {
  const day = playDay(world)
  let timer = setTimeout(goOn, FIRST_CHANGE_MS)
  function goOn(): void {
    timer = setTimeout(goOn, day.next().value)
  }
  return () => clearTimeout(timer)
}

function kubeconfigOf(url: string): string {
  return `apiVersion: v1
kind: Config
current-context: demo
contexts:
  - { name: demo, context: { cluster: demo, user: demo } }
clusters:
  - { name: demo, cluster: { server: "${url}" } }
users:
  - { name: demo, user: {} }
`
}
