import type { Sink } from './contract.ts'

/** The counters of a sink at one time. */
export interface Sample {
  atMs: number
  enqueued: number
  delivered: number
  pending: number
}

/** Twenty minutes, if asked every two seconds. */
const KEPT = 600
/** Time over which a rate is measured: long enough for a steady number, short enough to follow. */
const WINDOW_MS = 10_000

const samples = new Map<string, Sample[]>()

/** Notes the counters that an answer has. They last as long as the page is open. */
export function noteSamples(
  sinks: readonly Pick<Sink, 'name' | 'enqueued' | 'delivered' | 'pending'>[],
  atMs: number,
): void {
  for (const { name, enqueued, delivered, pending } of sinks) {
    const own = samples.get(name) ?? []
    own.push({ atMs, enqueued, delivered, pending })
    if (own.length > KEPT) own.shift()
    samples.set(name, own)
  }
}

export function samplesOf(sink: string): readonly Sample[] {
  return samples.get(sink) ?? []
}

/** Returns events per second between samples; counters that went back (a Redis that was emptied) begin again. */
export function ratesOf(own: readonly Sample[]): { atMs: number; enqueued: number; delivered: number }[] {
  return own.flatMap((now, index) => {
    const before = own.find((it, i) => i < index && now.atMs - it.atMs <= WINDOW_MS)
    if (!before) return []
    const seconds = (now.atMs - before.atMs) / 1_000
    if (seconds <= 0) return []
    const per = (key: 'enqueued' | 'delivered') => Math.max(0, (now[key] - before[key]) / seconds)
    return [{ atMs: now.atMs, enqueued: per('enqueued'), delivered: per('delivered') }]
  })
}
