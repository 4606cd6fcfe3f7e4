import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { createMemoryCgroup } from '../servers/memory-cgroup.ts'
import type { ReceivedRequest } from '../servers/receiver.ts'
import { waitFor } from '../wait-for.ts'
import { named, sayMissing, startStage } from './stage-bed.ts'

/** A backlog of large objects for several sinks does not kill the process that has to deliver it. */

const SINKS = ['first', 'second', 'third']
const OBJECTS = named('object', Number(process.env['LARGE_OBJECTS'] ?? 100))
/** All of them at once, unpacked and as requests, take more than the limit. */
const OBJECT_BYTES = 900_000
const LIMIT_BYTES = chartsLimitBytes()
const TEXT = halfPackable(OBJECT_BYTES)

test('a process within the chart’s limit of memory starts on a backlog of 300 deliveries of 900 KB, and delivers all', async () => {
  await using it = await startStage({ sinks: SINKS })
  it.hook.answer((request) => {
    request.body = ''
    return { status: 503 }
  })
  for (const [i, name] of OBJECTS.entries()) {
    it.feed.change('ADDED', name, { large: `${i} ${TEXT}` })
    // One at a time: the backlog is at issue, not how it comes.
    if (i % 10 === 9) await enqueued(i + 1)
  }
  await enqueued(OBJECTS.length)
  await it.kubeherald.kill()

  it.hook.answer((request) => {
    withoutObject(request)
    return { status: 200, delayMs: 500 }
  })
  using cgroup = createMemoryCgroup(LIMIT_BYTES)
  try {
    await it.kubeherald.start({ launcher: cgroup.launcher })
    const all = () => SINKS.every((sink) => it.missing(sink).length === 0)
    await waitFor(() => all() || it.kubeherald.ended() !== undefined, {
      timeoutMs: 90_000,
      what: () => SINKS.map((sink) => `${sink}: ${sayMissing(it.missing(sink), OBJECTS.length)}`).join('; '),
    })
    const peak = cgroup.peakBytes() ?? 0
    console.log(`peak ${(peak / 2 ** 20).toFixed(0)} of ${(LIMIT_BYTES / 2 ** 20).toFixed(0)} MiB`)
    expect(it.kubeherald.ended()).toBeUndefined()
    // With its byte budget it takes 0.6 of the limit, without 0.97: the limit alone would not show that the budget is gone.
    expect(peak).toBeLessThan(0.85 * LIMIT_BYTES)
    for (const sink of SINKS) await it.expectAll(sink, 1_000)
  } finally {
    await it.kubeherald.kill()
  }

  async function enqueued(count: number): Promise<void> {
    const of = (sink: string) => it.redis.ask('HGET', `{kubeherald:test}:ledger:sink:${sink}`, 'enqueued')
    await waitFor(async () => (await Promise.all(SINKS.map(of))).every((it) => Number(it) >= count), {
      timeoutMs: 60_000,
      what: 'the backlog',
    })
  }
})

/** `resources.limits.memory` of the chart's values, in bytes. */
function chartsLimitBytes(): number {
  const file = new URL('../../deploy/helm/kubeherald/values.yaml', import.meta.url)
  const limit: string = parse(readFileSync(file, 'utf8')).resources.limits.memory
  const mebibytes = /^(\d+)Mi$/.exec(limit)?.[1]
  if (!mebibytes) throw new Error(`the chart's limit of memory is ${limit}`)
  return Number(mebibytes) * 2 ** 20
}

/** The receiver keeps what it gets: without the object it keeps little. */
function withoutObject(request: ReceivedRequest): void {
  const event = JSON.parse(request.body)
  request.body = JSON.stringify({ ...event, data: { ...event.data, object: undefined } })
}

/** Text that packs to about half. */
function halfPackable(length: number): string {
  let state = 1
  let words = ''
  while (words.length < length) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    words += `${state.toString(36)} `
  }
  return words
}
