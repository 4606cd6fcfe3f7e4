import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { encodeEntries } from '../../src/queue/entry.ts'
import type { Row } from './main.ts'
import { median, pairs } from './pairs.ts'
import { benchPod } from './pod.ts'
import { bundle, kubeconfig } from './row-memory.ts'

const WAITING = 6_000

export const redisRow: Row = {
  name: 'redis-bytes',
  title: 'Redis per waiting 5.7 KB event, in batches of 30 and one by one',
  async measure(context) {
    const batched = await bytesPerEvent(context, 30)
    const lonely = await bytesPerEvent(context, 1)
    return {
      ours: `${batched.toFixed(0)} B (one by one ${lonely.toFixed(0)} B)`,
      yardstick: `${JSON.stringify(benchPod(1)).length} B of JSON`,
      target: '≤ 900 B',
      met: batched <= 900,
    }
  },
}

async function bytesPerEvent(context: Parameters<Row['measure']>[0], batch: number): Promise<number> {
  await using redis = await context.startRedis()
  const used = async () =>
    Number(/used_memory_dataset:(\d+)/.exec(String(await redis.command('INFO', 'memory')))?.[1])
  const before = await used()
  const { Redis } = await import('ioredis')
  const client = new Redis(redis.url)
  for (let i = 0; i < WAITING; i += batch) {
    const deliveries = Array.from({ length: batch }, (_, n) => deliveryOf(i + n))
    for (const { count, observedAtMs, payload } of encodeEntries(deliveries)) {
      await client.xadd('lane', '*', 'n', count, 't', observedAtMs, 'z', payload)
    }
  }
  const after = await used()
  client.disconnect()
  return (after - before) / WAITING
}

function deliveryOf(i: number) {
  const pod = benchPod(i) as { metadata: Record<string, unknown> }
  const { managedFields: _managed, ...metadata } = pod.metadata
  const { name, namespace, uid } = metadata as { name: string; namespace: string; uid: string }
  return {
    sink: 'hook',
    rule: 'all',
    event: {
      id: `cluster/${uid}/${i}/MODIFIED`,
      type: 'MODIFIED' as const,
      cluster: 'bench',
      apiVersion: 'v1',
      kind: 'Pod',
      path: `/api/v1/namespaces/${namespace}/pods/${name}`,
      namespace,
      name,
      uid,
      resourceVersion: String(i),
      time: new Date().toISOString(),
    },
    objectJson: Buffer.from(JSON.stringify({ ...pod, metadata })),
  }
}

export const startRow: Row = {
  name: 'start',
  title: 'start of the bundle to its first watch open / node -e 0',
  async measure(context) {
    bundle()
    await using redis = await context.startRedis()
    const times = await pairs(
      context.pairs,
      () => timeToFirstWatch(redis.url),
      async () => timeOf(['-e', '0']),
    )
    const ratio = median(times.map(({ a, b }) => a / b))
    return {
      ours: `${median(times.map(({ a }) => a)).toFixed(0)} ms`,
      yardstick: `${median(times.map(({ b }) => b)).toFixed(0)} ms`,
      ratio,
      target: '≤ 6 ×',
      met: ratio <= 6,
    }
  },
}

function timeOf(args: readonly string[]): number {
  const startedMs = performance.now()
  spawnSync(process.execPath, args)
  return performance.now() - startedMs
}

async function timeToFirstWatch(redisUrl: string): Promise<number> {
  const opened = Promise.withResolvers<number>()
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://api')
    const json = (body: object, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    const pods = {
      resource: 'pods',
      responseKind: { kind: 'Pod' },
      scope: 'Namespaced',
      verbs: ['list', 'watch'],
    }
    if (pathname === '/api')
      return json({
        kind: 'APIGroupDiscoveryList',
        items: [{ metadata: { name: '' }, versions: [{ version: 'v1', resources: [pods] }] }],
      })
    if (pathname === '/apis') return json({ kind: 'APIGroupDiscoveryList', items: [] })
    if (pathname.endsWith('kube-system')) return json({ metadata: { uid: 'bench' } })
    if (searchParams.has('sendInitialEvents')) return json({ code: 422 }, 422)
    if (searchParams.get('watch') !== 'true') return json({ metadata: { resourceVersion: '5' }, items: [] })
    opened.resolve(performance.now())
    response.writeHead(200)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-bench-'))
  writeFileSync(
    join(dir, 'kubeconfig'),
    kubeconfig(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  )
  writeFileSync(
    join(dir, 'kubeherald.yaml'),
    `cluster: bench\nredis: { url: "${redisUrl}" }\nserver: false\nwatch: [Pod]\nsinks: { out: { type: stdout } }\nrules: [{ name: all, to: [out] }]\n`,
  )
  const path = `${dirname(process.execPath)}:${process.env['PATH']}`
  const env = { ...process.env, PATH: path, KUBECONFIG: join(dir, 'kubeconfig') }
  const startedMs = performance.now()
  const child = spawn(bundle(), ['run', '--config', join(dir, 'kubeherald.yaml')], {
    env,
    stdio: 'ignore',
  })
  const atMs = await opened.promise
  child.kill('SIGKILL')
  server.close()
  server.closeAllConnections()
  rmSync(dir, { recursive: true, force: true })
  return atMs - startedMs
}
