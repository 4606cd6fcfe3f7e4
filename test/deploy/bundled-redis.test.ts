import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readComposeFile } from '../image/compose-file.ts'
import { freePort } from '../servers/ports.ts'
import { startProgram } from '../servers/process.ts'
import { waitFor } from '../wait-for.ts'
import { CHART, find, type Manifest, ROOT, refusal, renderChart, renderOverlay } from './render.ts'

const values = (bundled: object) => ({ redis: { bundled: { enabled: true, ...bundled } } })
const limit = (memory: unknown) => ({ resources: { limits: { memory } } })
const redisOf = (manifests: readonly Manifest[]) =>
  find(manifests, 'StatefulSet')['spec'].template.spec.containers[0]

async function maxmemoryOf(bundled: object): Promise<string | undefined> {
  const config = find(await renderChart(values(bundled)), 'ConfigMap', 'herald-kubeherald-redis')
  return /^maxmemory (\S+)$/m.exec(config['data']['redis.conf'])?.[1]
}

describe('maxmemory', () => {
  test.each<[memory: unknown, maxmemory: string]>([
    ['768Mi', '460mb'],
    ['1.5Gi', '921mb'],
    ['2Gi', '1228mb'],
    ['0.5Gi', '307mb'],
    ['64Mi', '38mb'],
    ['786432Ki', '460mb'],
    ['1G', '572mb'],
    ['500M', '286mb'],
    ['1e9', '572mb'],
    ['805306368', '460mb'],
    [805306368, '460mb'],
    [1073741824.0, '614mb'],
    ['.5Ti', '314572mb'],
  ])('of a limit of %s is %s, which is three fifths of it', async (memory, maxmemory) => {
    const persistence = { size: '1Ti' }
    expect(await maxmemoryOf({ ...limit(memory), persistence })).toBe(maxmemory)
  })

  test('may be chosen up to 80 % of the limit, or without any', async () => {
    expect(await maxmemoryOf({ ...limit('100Mi'), maxmemory: '80mb' })).toBe('80mb')
    expect(await maxmemoryOf({ ...limit('1.5Gi'), maxmemory: '1gb' })).toBe('1gb')
    expect(await maxmemoryOf({ ...limit(null), maxmemory: '104857600' })).toBe('104857600')
  })

  test.each<[what: string, bundled: object, says: string]>([
    ['no limit', limit(null), 'resources.limits.memory is missing'],
    ['no resources', { resources: null }, 'resources.limits.memory is missing'],
    ['a limit of zero', limit('0'), 'memory'],
    ['zero with a unit', limit('0Mi'), '64Mi or more'],
    ['the number zero', limit(0), '/redis/bundled/resources/limits/memory'],
    ['a limit too small for Redis', limit('63Mi'), '64Mi or more'],
    ['bytes too few for Redis', limit('1048576'), '64Mi or more'],
    ['a unit that there is not', limit('1.5GB'), '/redis/bundled/resources/limits/memory'],
    ['thousandths of a byte', limit('768000000000m'), '/redis/bundled/resources/limits/memory'],
    ['a limit below nothing', limit('-1Gi'), '/redis/bundled/resources/limits/memory'],
    ['all of the limit', { ...limit('768Mi'), maxmemory: '768mb' }, '80 %'],
    ['nearly all of the limit', { ...limit('1Gi'), maxmemory: '900mb' }, '80 %'],
    ['more than the limit, in bytes', { ...limit('1Gi'), maxmemory: '2147483648' }, '80 %'],
    ['too little', { maxmemory: '31mb' }, '32mb or more'],
    ['too little, for it lacks a unit', { maxmemory: '460' }, '32mb or more'],
    ['more than the volume', { ...limit('16Gi'), persistence: { size: '8Gi' } }, 'persistence.size'],
  ])('with %s is refused', async (_, bundled, says) => {
    expect(await refusal(values(bundled))).toContain(says)
  })
})

test('a Redis whose disk is full stays in its Service and is healthy in Compose: kubeherald asks it for the reason', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-full-'))
  const port = await freePort()
  writeFileSync(join(dir, 'password'), 'p')
  const redis = startProgram('sh', [
    '-c',
    // A file of at most 32 KB, and an error instead of a signal beyond it.
    `trap '' XFSZ; ulimit -f 32; exec redis-server --port ${port} --bind 127.0.0.1 --dir ${dir} --appendonly yes --save '' --requirepass p`,
  ])
  const cli = (...args: string[]) =>
    spawnSync('redis-cli', ['-p', String(port), '-a', 'p', ...args], { encoding: 'utf8' }).stdout.trim()
  const chart = find(await renderChart(values({})), 'ConfigMap', 'herald-kubeherald-redis')['data'][
    'ready.sh'
  ]
  const compose = readComposeFile().services['redis']?.healthcheck?.test[1]?.replaceAll('$$', '$')
  const probe = (script = 'false') =>
    spawnSync('sh', [
      '-c',
      script
        .replace(/\/run\/secrets\/\w+\/[\w-]*password/, join(dir, 'password'))
        .replace('redis-cli', `redis-cli -p ${port}`),
    ]).status
  try {
    await waitFor(() => cli('ping') === 'PONG', { what: () => redis.output() })
    for (const script of [chart, compose]) expect(probe(script)).toBe(0)
    await waitFor(() => cli('set', 'key', 'x'.repeat(10_000)) !== '' && cli('ping').startsWith('MISCONF'), {
      what: () => redis.output(),
    })
    for (const script of [chart, compose]) expect(probe(script)).toBe(0)
  } finally {
    await redis.end('SIGKILL')
    rmSync(dir, { recursive: true })
  }
  for (const script of [chart, compose]) expect(probe(script)).not.toBe(0)
})

describe('the image', () => {
  const { image: pinned = '' } = readComposeFile().services['redis'] ?? {}

  test('is the same in Compose, chart and kustomization: tag and digest', async () => {
    expect(pinned).toMatch(/^redis:[\w.-]+@sha256:[0-9a-f]{64}$/)
    const chart = redisOf(await renderChart(values({})))
    const overlay = redisOf(await renderOverlay(join(ROOT, 'deploy/kustomize/overlays/single')))
    expect([chart.image, overlay.image]).toEqual(Array(2).fill(`docker.io/library/${pinned}`))
    expect(`redis:${readFileSync(join(CHART, 'files/redis-image.txt'), 'utf8').trim()}`).toBe(pinned)
  })

  test.each<[image: object, rendered: string]>([
    [{ repository: 'registry.example.com/redis' }, `registry.example.com/${pinned}`],
    // A digest is of one tag: with another one it would run what nobody asked for.
    [{ tag: '7.4-alpine' }, 'docker.io/library/redis:7.4-alpine'],
    [{ repository: 'valkey/valkey', tag: '8' }, 'valkey/valkey:8'],
    [{ tag: '7', digest: `sha256:${'1'.repeat(64)}` }, `docker.io/library/redis:7@sha256:${'1'.repeat(64)}`],
  ])('%o is %s', async (image, rendered) => {
    expect(redisOf(await renderChart(values({ image }))).image).toBe(rendered)
  })
})
