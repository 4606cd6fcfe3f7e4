import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { dieWithUs, serve } from './processes.ts'
import type { Result, Row } from './row.ts'
import { FAKE_TOKEN } from './row-slack.ts'

const DELIVERIES = 100_000
const FILE = new URL('./growth.ts', import.meta.url).pathname

interface Peer extends AsyncDisposable {
  options: object
}

/** What each sink delivers to. */
const PEERS: Record<string, () => Promise<Peer>> = {
  async webhook() {
    const hook = await serve('./hook.ts')
    return { options: { url: hook.url }, [Symbol.asyncDispose]: () => hook[Symbol.asyncDispose]() }
  },
  async kafka() {
    const broker = await serve('./fake-broker.ts')
    return {
      options: { brokers: [new URL(broker.url).host], topic: 'events', compression: 'none' },
      [Symbol.asyncDispose]: () => broker[Symbol.asyncDispose](),
    }
  },
  /** With digests: one by one they would take hours. */
  async slack() {
    const slack = await serve('./fake-slack.ts')
    return {
      options: {
        token: FAKE_TOKEN,
        apiUrl: `${slack.url}/api/`,
        channel: '#events',
        rate: { perSecond: 50, burst: 5 },
      },
      [Symbol.asyncDispose]: () => slack[Symbol.asyncDispose](),
    }
  },
  async file() {
    const dir = mkdtempSync(join(tmpdir(), 'kubeherald-bench-'))
    return {
      options: { path: join(dir, 'events.ndjson'), maxSize: '50MB', maxFiles: 2 },
      async [Symbol.asyncDispose]() {
        rmSync(dir, { recursive: true, force: true })
      },
    }
  },
}

export const growthRows: readonly Row[] = Object.keys(PEERS).map((type) => ({
  name: `growth-${type}`,
  title: `heap of the ${type} sink after 100,000 deliveries / after 10,000`,
  measure: () => measure(type),
}))

async function measure(type: string): Promise<Result> {
  await using peer = await (PEERS[type] as () => Promise<Peer>)()
  const args = ['--expose-gc', FILE, type, JSON.stringify(peer.options), String(DELIVERIES)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], timeout: 300_000 })
  const release = dieWithUs(child)
  const line = (await text(child.stdout)).trim()
  release()
  if (!line.startsWith('{')) throw new Error(`${type}: nothing was measured: ${line}`)
  const { first, last } = JSON.parse(line) as { first: number; last: number }
  const ratio = last / first
  return {
    ours: `${(last / 1e6).toFixed(1)} MB`,
    yardstick: `${(first / 1e6).toFixed(1)} MB`,
    ratio,
    target: '≤ 1.1 ×',
    met: ratio <= 1.1,
  }
}
