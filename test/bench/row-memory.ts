import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { BenchContext, Row } from './main.ts'
import { median } from './pairs.ts'
import { serve } from './processes.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const BUNDLE = join(ROOT, 'dist/main.js')
const SECONDS = 20
const PER_SECOND = 100

/** Builds the bundle if it is not there. */
export function bundle(): string {
  if (!existsSync(BUNDLE))
    spawnSync(process.execPath, ['deploy/build/bundle.mjs'], { cwd: ROOT, stdio: 'inherit' })
  return BUNDLE
}

/** The memory of the bundle after some seconds of changes, in MB. */
async function memoryWith(objects: number, context: BenchContext): Promise<number> {
  await using feed = await serve(
    './feed.ts',
    String(SECONDS * PER_SECOND * 2),
    String(PER_SECOND),
    String(objects),
  )
  await using hook = await serve('./hook.ts')
  await using redis = await context.startRedis()
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-bench-'))
  writeFileSync(
    join(dir, 'kubeherald.yaml'),
    `cluster: bench\nredis: { url: "${redis.url}" }\nserver: false\nwatch: [Pod]\nsinks: { hook: { type: webhook, url: "${hook.url}" } }\nrules: [{ name: all, to: [hook] }]\n`,
  )
  writeFileSync(join(dir, 'kubeconfig'), kubeconfig(feed.url))
  const path = `${dirname(process.execPath)}:${process.env['PATH']}`
  const env = { ...process.env, PATH: path, KUBECONFIG: join(dir, 'kubeconfig') }
  const child = spawn(bundle(), ['run', '--config', join(dir, 'kubeherald.yaml')], {
    env,
    stdio: 'ignore',
  })
  const samples: number[] = []
  for (let i = 0; i < SECONDS; i++) {
    await pause(1_000)
    if (i >= SECONDS / 2) samples.push(residentMb(child.pid as number))
  }
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
  rmSync(dir, { recursive: true, force: true })
  return median(samples)
}

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024
}

export function kubeconfig(server: string): string {
  return JSON.stringify({
    'current-context': 'b',
    contexts: [{ name: 'b', context: { cluster: 'b', user: 'b' } }],
    clusters: [{ name: 'b', cluster: { server } }],
    users: [{ name: 'b', user: {} }],
  })
}

export const memoryRow: Row = {
  name: 'memory',
  title: 'memory of the bundle, 50,000 pods watched, 100 changes/s / with 500 pods',
  async measure(context) {
    const large = await memoryWith(50_000, context)
    const small = await memoryWith(500, context)
    const ratio = large / small
    return {
      ours: `${large.toFixed(0)} MB`,
      yardstick: `${small.toFixed(0)} MB`,
      ratio,
      target: '≤ 180 MB, ≤ 1.15 ×',
      met: large <= 180 && ratio <= 1.15,
    }
  },
}
