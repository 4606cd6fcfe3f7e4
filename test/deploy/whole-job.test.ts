import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { runTool } from '../servers/deploy-tools.ts'
import { kubernetesAssets } from '../servers/kubernetes.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { type PodBed, startPodBed } from './herald.ts'
import type { RunningPod } from './pod.ts'
import { CHART, type Manifest, ROOT, renderChart, renderOverlay } from './render.ts'
import { podsOf } from './workload.ts'

let bed: PodBed
beforeAll(async () => {
  bed = await startPodBed()
  await bed.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }])
})
afterAll(() => bed?.[Symbol.asyncDispose]())

const hook = () => ({
  type: 'webhook',
  url: bed.hook.url,
  headers: { 'x-key': '${file:/run/secrets/kubeherald/key}' },
})
const rules = [{ name: 'warnings', when: { kind: 'Event', type: 'Warning' }, to: 'hook' }]
const config = () => ({ watch: ['Event'], sinks: { hook: hook() }, rules })

async function arrives(name: string, pods: readonly RunningPod[]): Promise<void> {
  await bed.warn('shop', name)
  const said = () => pods.map((pod) => `${pod.name}:\n${pod.output().slice(-2_000)}`).join('\n')
  await waitFor(() => bed.told(name), { timeoutMs: 40_000, what: () => `the change ${name}\n${said()}` })
}

function secret(namespace: string, name: string, data: Record<string, string>): Manifest {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData: data }
}

async function stopAll(pods: readonly RunningPod[]): Promise<void> {
  for (const pod of [...pods].reverse()) {
    expect(await pod.probe('livenessProbe')).toBe(true)
    expect(await pod.stop()).toEqual({ killed: false })
  }
}

/** Asks the API server with what a pod would show it. */
async function statusAs(pod: RunningPod, path: string): Promise<number> {
  const token = pod.exec('cat', '/var/run/secrets/kubernetes.io/serviceaccount/token').output
  const script = `
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    fetch(${JSON.stringify(bed.kubernetes.url + path)}, { headers: { authorization: 'Bearer ${token}' } }).then((it) => console.log(it.status))`
  return Number(pod.exec('/nodejs/bin/node', '--no-warnings', '-e', script).output)
}

test('the chart with a Redis of its own: one pod tells what happens, and can do no more than that', async () => {
  await bed.addNamespace('one')
  await bed.apply([secret('one', 'keys', { key: 's3cret' })])
  const values = { redis: { bundled: { enabled: true } }, secrets: [{ name: 'keys' }], config: config() }
  const pods = await bed.start(await renderChart(values, 'one'))
  const [redis, herald] = pods as [RunningPod, RunningPod]
  await arrives('one-pod', pods)
  expect(bed.hook.requests.at(-1)?.headers['x-key']).toBe('s3cret')

  expect(herald.exec('id').output).toBe('uid=65532 gid=65532 groups=65532\n')
  for (const folder of ['/', '/app', '/etc/kubeherald', '/run/secrets/kubeherald'])
    expect(herald.exec('touch', `${folder}/x`).output).toContain('Read-only file system')
  expect(await statusAs(herald, '/api/v1/events')).toBe(200)
  expect(await statusAs(herald, '/api/v1/namespaces/kube-system')).toBe(200)
  for (const path of [
    '/api/v1/secrets',
    '/api/v1/namespaces/one/secrets/keys',
    '/api/v1/pods',
    '/api/v1/namespaces',
  ])
    expect(await statusAs(herald, path)).toBe(403)

  const password = redis.exec('cat', '/run/secrets/redis/password').output
  expect(password).toMatch(/^[0-9A-Za-z]{40}$/)
  expect(readFileSync(`/proc/${redis.pid}/cmdline`, 'utf8')).not.toContain(password)
  expect(herald.output()).not.toContain(password)
  const set = (key: string) => redis.exec('sh', '-c', asked(redis, `config get ${key}`)).output.split('\n')[1]
  expect(set('maxmemory-policy')).toBe('noeviction')
  expect(set('appendonly')).toBe('yes')
  expect(set('maxmemory')).toBe(String(460 * 1024 * 1024))
  await stopAll(pods)
})

/** redis-cli with the arguments of the pod's own readiness probe. */
function asked(redis: RunningPod, command: string): string {
  return redis.exec('cat', '/etc/redis/ready.sh').output.replace(/ping.*/s, command)
}

test('the chart with three replicas: a change arrives once, and goes on arriving while pods go', async () => {
  await using redis = await startRedis()
  await bed.addNamespace('three')
  await bed.apply([secret('three', 'keys', { key: 'k' })])
  const values = {
    redis: { url: 'redis://redis:6379' },
    replicas: 3,
    secrets: [{ name: 'keys' }],
    config: config(),
  }
  const pods = await bed.start(await renderChart(values, 'three'), { redisUrl: redis.url })
  expect(pods.length).toBe(3)
  await arrives('all-three', pods)
  expect(bed.hook.requests.filter(({ body }) => body.includes('"all-three"')).length).toBe(1)
  await stopAll(pods.slice(0, 1))
  await arrives('two-are-left', pods)
  await stopAll(pods.slice(1, 2))
  await arrives('one-is-left', pods)
  await stopAll(pods.slice(2))
})

test('the chart in mode split: one reads, two deliver, and those have no token', async () => {
  await using redis = await startRedis()
  await bed.addNamespace('split')
  await bed.apply([secret('split', 'keys', { key: 'k' })])
  const values = {
    redis: { url: 'redis://redis:6379' },
    mode: 'split',
    secrets: [{ name: 'keys' }],
    config: config(),
  }
  const pods = await bed.start(await renderChart(values, 'split'), { redisUrl: redis.url })
  await arrives('split', pods)
  const has = (pod: RunningPod) => pod.exec('ls', '/var/run/secrets/kubernetes.io/serviceaccount').code === 0
  expect(pods.map((pod) => [pod.name, has(pod)])).toEqual([
    ['herald-kubeherald-watch-0', true],
    ['herald-kubeherald-deliver-0', false],
    ['herald-kubeherald-deliver-1', false],
  ])
  await stopAll(pods)
})

/** A copy of deploy/kustomize whose overlay has a configuration of one's own, as its README says. */
async function ownOverlay(overlay: string, change: (config: any) => object): Promise<Manifest[]> {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-kustomize-'))
  try {
    cpSync(join(ROOT, 'deploy/kustomize'), dir, { recursive: true })
    const folder = join(dir, 'overlays', overlay)
    const file = join(folder, 'kubeherald.yaml')
    writeFileSync(file, stringify(change(parse(readFileSync(file, 'utf8')))))
    return await renderOverlay(folder)
  } finally {
    rmSync(dir, { recursive: true })
  }
}

const toHook = (it: any) => ({ ...it, sinks: { screen: hook() } })

test('the overlay single: one pod and a Redis of its own', async () => {
  await bed.addNamespace('kubeherald')
  await bed.apply([
    secret('kubeherald', 'kubeherald', { key: 'k' }),
    secret('kubeherald', 'kubeherald-redis', { password: 'pa"ss\\w$(id)rd' }),
  ])
  const pods = await bed.start(await ownOverlay('single', toHook))
  await arrives('overlay-single', pods)
  await stopAll(pods)
})

test('the overlay ha: three pods and a Redis elsewhere', async () => {
  await using redis = await startRedis()
  await bed.addNamespace('kubeherald')
  await bed.apply([secret('kubeherald', 'kubeherald', { key: 'k', 'redis-url': redis.url })])
  const pods = await bed.start(await ownOverlay('ha', toHook))
  expect(pods.length).toBe(3)
  await arrives('overlay-ha', pods)
  await stopAll(pods)
})

test('the overlay namespaced: nothing but its own namespace', async () => {
  await bed.addNamespace('shop')
  await bed.apply([
    secret('shop', 'kubeherald', { key: 'k' }),
    secret('shop', 'kubeherald-redis', { password: 'p' }),
  ])
  const pods = await bed.start(await ownOverlay('namespaced', toHook))
  await arrives('overlay-namespaced', pods)
  const herald = pods[1]!
  expect(await statusAs(herald, '/apis/apps/v1/namespaces/shop/deployments')).toBe(200)
  for (const path of [
    '/api/v1/events',
    '/api/v1/namespaces/default/events',
    '/api/v1/namespaces/kube-system',
  ])
    expect(await statusAs(herald, path)).toBe(403)
  await stopAll(pods)
})

/** Commands of a section of deploy/README.md, typed in another namespace. */
function typeCommands(heading: string, namespace: string): string[] {
  const page = readFileSync(join(ROOT, 'deploy/README.md'), 'utf8')
  const section = page.slice(page.indexOf(`### ${heading}\n`))
  const block = /```sh\n([\s\S]*?)```/.exec(section)?.[1] ?? ''
  return block
    .trim()
    .split('\n')
    .map((command) => command.replace('-n kubeherald ', `-n ${namespace} `))
}

test('the password of the bundled Redis is changed by the commands of the page, and nothing is lost', async () => {
  const namespace = 'rotated'
  const shell = (command: string) => {
    const { kubeconfig } = bed.kubernetes
    // kubectl keeps a cache in its home.
    const env = {
      PATH: `${kubernetesAssets()}:${process.env['PATH']}`,
      HOME: dirname(kubeconfig),
      KUBECONFIG: kubeconfig,
    }
    const { status, stdout, stderr } = spawnSync('sh', ['-ec', command], { env, encoding: 'utf8' })
    expect({ status, output: stdout + stderr }).toMatchObject({ status: 0 })
  }
  const [changeSecret = '', restart = ''] = typeCommands('Change the password of Redis', namespace)
  await bed.addNamespace(namespace)
  await bed.apply([secret(namespace, 'keys', { key: 'k' })])
  const values = { redis: { bundled: { enabled: true } }, secrets: [{ name: 'keys' }], config: config() }
  const [redis, herald] = (await bed.start(await renderChart(values, namespace, 'kubeherald'))) as [
    RunningPod,
    RunningPod,
  ]
  await arrives('before-the-change', [redis, herald])
  const password = () => redis.exec('cat', '/run/secrets/redis/password').output
  const old = password()
  const killClients = asked(redis, 'client kill type normal').replace(/\$\(cat [^)]*\)/, old)

  shell(changeSecret)
  for (const pod of [redis, herald]) await pod.refresh()
  expect(password()).not.toBe(old)
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'] as const)
    expect(await redis.probe(probe)).toBe(true)
  await arrives('over-old-connections', [redis, herald])

  // Connections that are lost now cannot come back until Redis has the new password, too.
  expect(redis.exec('sh', '-c', killClients).output).toMatch(/^\d+\n$/)
  await waitFor(async () => !(await herald.probe('readinessProbe')), { what: () => herald.output() })
  expect(await herald.probe('livenessProbe')).toBe(true)
  await bed.warn('shop', 'while-it-waits')

  shell(restart)
  expect(await redis.stop()).toEqual({ killed: false })
  const sets = `/apis/apps/v1/namespaces/${namespace}/statefulsets/kubeherald-redis`
  const again = await bed.startPods(podsOf([(await bed.kubernetes.request('GET', sets)) as Manifest]))
  await waitFor(() => bed.told('while-it-waits'), { timeoutMs: 40_000, what: () => herald.output() })
  await waitFor(() => herald.probe('readinessProbe'), { what: () => herald.output() })
  const status = herald.exec('/nodejs/bin/node', '/app/main.js', 'status')
  expect(status.output).toContain('ledger: balanced')
  for (const name of ['before-the-change', 'over-old-connections', 'while-it-waits'])
    expect(bed.hook.requests.filter(({ body }) => body.includes(`"${name}"`)).length).toBe(1)
  await stopAll([...again, herald])
})

const SECRET = '/api/v1/namespaces/kubeherald/secrets/herald-kubeherald-redis'
const DEPLOYMENT = '/apis/apps/v1/namespaces/kubeherald/deployments/herald-kubeherald'
const CONFIG = '/api/v1/namespaces/kubeherald/configmaps/herald-kubeherald'

async function helm(command: string, values: object = {}, ...more: string[]): Promise<string> {
  const chart = ['install', 'upgrade'].includes(command) ? [CHART, '--values', '-'] : []
  const where = ['--namespace', 'kubeherald', '--kubeconfig', bed.kubernetes.kubeconfig]
  const { code, stdout, stderr } = await runTool(
    'helm',
    [command, 'herald', ...chart, ...where, ...more],
    stringify(values),
  )
  if (code !== 0) throw new Error(`helm ${command}: ${stderr}`)
  return stdout
}

const get = (path: string): Promise<any> => bed.kubernetes.request('GET', path)

test('Helm installs, tests, upgrades and removes it; what waits in Redis outlives the chart', async () => {
  await bed.addNamespace('kubeherald')
  const values = { redis: { bundled: { enabled: true } } }
  const notes = await helm('install', values)
  expect(notes).toContain('There is no `config` yet')
  expect(notes).toContain('WARNING: the cluster has no name')
  const { password } = (await get(SECRET)).data
  const templateBefore = (await get(DEPLOYMENT)).spec.template

  // There are no controllers here: the pods of what Helm has installed.
  const redisAndHerald = podsOf([
    await get('/apis/apps/v1/namespaces/kubeherald/statefulsets/herald-kubeherald-redis'),
    await get(DEPLOYMENT),
  ])
  const pods = await bed.startPods(redisAndHerald)
  const tests = (await renderChart(values)).filter(({ kind }) => kind === 'Pod')
  const tested = helm('test')
  const outputs: string[] = []
  for (const manifest of podsOf(tests)) {
    const path = await bed.pathOf(manifest)
    await waitFor(() => get(path).then(Boolean, () => false), { what: `${manifest.metadata.name}` })
    outputs.push((await bed.complete(manifest)).output())
  }
  expect(await tested).toMatch(/Phase: +Succeeded[\s\S]*Phase: +Succeeded/)
  expect(outputs[0]).toContain('kubeherald.yaml is good')
  expect(outputs[1]).toContain('ledger: balanced')

  const config = {
    watch: ['Event'],
    sinks: { hook: { type: 'webhook', url: bed.hook.url } },
    rules: [{ name: 'all', to: 'hook' }],
  }
  const again = await helm('upgrade', { ...values, cluster: 'kubernetes', config })
  expect(again).not.toContain('WARNING')
  expect((await get(CONFIG)).data['kubeherald.yaml']).toContain(bed.hook.url)
  expect((await get(SECRET)).data.password).toBe(password)
  // No pod is replaced for another configuration: it is taken up by those that run.
  expect((await get(DEPLOYMENT)).spec.template).toEqual(templateBefore)
  await pods[1]?.refresh()
  await waitFor(() => pods[1]?.output().includes('configuration reloaded'), {
    what: 'the new configuration',
  })
  await arrives('after-the-upgrade', pods)
  for (const pod of [...pods].reverse()) expect(await pod.stop()).toEqual({ killed: false })

  expect(await helm('uninstall')).toContain('Secret')
  await expect(get(DEPLOYMENT)).rejects.toThrow('404')
  expect((await get(SECRET)).data.password).toBe(password)
})
