import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Bench, OpenedSink } from './bench.ts'
import type { CheckBody } from './check.ts'
import { expect, skip } from './fault.ts'

const DELIVERIES = 10_000
/** One that keeps messages, or only their ids, keeps more of each. */
const MAX_BYTES_EACH = 100
const ROUNDS = 4

export const memoryChecks: Readonly<Record<string, CheckBody>> = {
  'ten thousand deliveries leave nothing in memory': async (bench) => {
    const collect = collector()
    if (!collect) skip('memory cannot be collected: start Node with --expose-gc')
    if (!bench.target.forget) skip('the target cannot forget what it got')
    const sink = await bench.open()
    await deliverMany(bench, sink, DELIVERIES / 5)
    let before = await usedBytes(collect)
    const growth: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await deliverMany(bench, sink, DELIVERIES / ROUNDS)
      const now = await usedBytes(collect)
      growth.push(Math.round((now - before) / (DELIVERIES / ROUNDS)))
      before = now
    }
    // A leak grows in every round, noise does not.
    expect(
      Math.min(...growth) <= MAX_BYTES_EACH,
      `memory grew in every round, by ${growth.join(', ')} bytes for each delivery`,
    )
  },
}

let batches = 0

async function deliverMany(bench: Bench, sink: OpenedSink, count: number): Promise<void> {
  const size = Math.min(sink.maxBatch, 100)
  for (let sent = 0; sent < count; sent += size) {
    await sink.deliver(await bench.samples(size, `memory${batches++}x`, { objects: 10 }))
    bench.target.forget?.()
  }
}

async function usedBytes(collect: () => void): Promise<number> {
  // What was closed is free only some turns later.
  for (let i = 0; i < 5; i++) {
    await new Promise(setImmediate)
    collect()
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

function collector(): (() => void) | undefined {
  if (globalThis.gc) return () => void globalThis.gc?.()
  try {
    setFlagsFromString('--expose-gc')
    return runInNewContext('gc') as () => void
  } catch {
    return undefined
  }
}
