import type { Outcome } from '../../src/sink/index.ts'
import type { KafkaRecord } from './format.ts'
import type { Produce, Target } from './producer.ts'

/** Records for one partition from one call, in order, with their outcomes. */
export interface Submission {
  readonly outcomes: readonly (Outcome | undefined)[]
  /** Resolves when every record has an outcome. */
  readonly done: Promise<void>
  /** Stops sending records that are not under way, and returns an outcome for each. */
  stop(): Outcome[]
}

export interface PartitionQueues {
  submit(target: Target, records: readonly KafkaRecord[]): Submission
  /** How many partitions have something to send. */
  readonly size: number
  /** Resolves when nothing is left. */
  idle(): Promise<void>
}

interface BatchLimits {
  maxRecords: number
  /** Uncompressed; a larger record is sent alone. */
  maxBytes: number
}

interface Entry {
  readonly record: KafkaRecord
  readonly of: Group
  readonly at: number
}

interface Group {
  outcomes: (Outcome | undefined)[]
  sent: boolean[]
  open: number
  stopped: boolean
  /** Later records of the group must not overtake a failed one. */
  failed: Outcome | undefined
  resolve(): void
}

/**
 * One queue for each partition with pending records. Records that lanes submit during a request go with the next
 * one. One request at a time per partition keeps the order.
 */
export function createPartitionQueues(transmit: Produce, limits: BatchLimits): PartitionQueues {
  const pipes = new Map<string, Entry[]>()
  const running = new Set<Promise<void>>()

  function submit(target: Target, records: readonly KafkaRecord[]): Submission {
    const { promise, resolve } = Promise.withResolvers<void>()
    const count = records.length
    const group: Group = {
      outcomes: new Array(count).fill(undefined),
      sent: new Array(count).fill(false),
      open: count,
      stopped: false,
      failed: undefined,
      resolve,
    }
    const entries = records.map((record, at): Entry => ({ record, of: group, at }))
    const key = `${target.topic}/${target.partition}`
    const queue = pipes.get(key)
    if (queue) queue.push(...entries)
    else {
      pipes.set(key, entries)
      const run = drain(target, key, entries).finally(() => running.delete(run))
      running.add(run)
    }
    return {
      outcomes: group.outcomes,
      done: promise,
      stop() {
        group.stopped = true
        return group.outcomes.map((it, i) => it ?? (group.sent[i] ? UNKNOWN : STOPPED))
      },
    }
  }

  async function drain(target: Target, key: string, queue: Entry[]): Promise<void> {
    // Wait one turn, so that other lanes' records join the batch.
    await new Promise(setImmediate)
    while (queue.length > 0) await sendInOrder(target, queue.splice(0, cut(queue, limits)))
    pipes.delete(key)
  }

  /** Halves a refused batch until the offending record is alone; the others are delivered, in order. */
  async function sendInOrder(target: Target, entries: readonly Entry[]): Promise<void> {
    const batch = entries.filter((it) => !isBlocked(it))
    const [first] = batch
    if (!first) return
    for (const { of, at } of batch) of.sent[at] = true
    const verdict = await transmit(
      target,
      batch.map(({ record }) => record),
    ).catch((error) => unexpected(error))
    if (verdict.kind === 'delivered') for (const it of batch) settle(it, DELIVERED)
    else if (verdict.kind !== 'refused') fail(batch, verdict.outcome)
    else if (batch.length === 1)
      settle(first, { kind: 'rejected', reason: 'rejected', detail: verdict.detail })
    else {
      for (const { of, at } of batch) of.sent[at] = false
      const middle = batch.length >> 1
      await sendInOrder(target, batch.slice(0, middle))
      await sendInOrder(target, batch.slice(middle))
    }
  }

  return {
    submit,
    get size() {
      return pipes.size
    },
    async idle() {
      await Promise.all(running)
    },
  }
}

/** How many of the first records make a batch; at least one. */
function cut(queue: readonly Entry[], { maxRecords, maxBytes }: BatchLimits): number {
  let bytes = 0
  const most = Math.min(queue.length, maxRecords)
  for (let i = 0; i < most; i++) {
    bytes += (queue[i] as Entry).record.bytes
    if (bytes > maxBytes) return Math.max(1, i)
  }
  return most
}

function isBlocked(entry: Entry): boolean {
  const { stopped, failed } = entry.of
  if (!stopped && !failed) return false
  settle(entry, failed ?? STOPPED)
  return true
}

function fail(batch: readonly Entry[], outcome: Outcome): void {
  for (const entry of batch) {
    entry.of.failed ??= unsent(outcome)
    settle(entry, outcome)
  }
}

/** A record that was not sent cannot have arrived. */
function unsent(outcome: Outcome): Outcome {
  if (outcome.kind !== 'retry') return outcome
  const { ambiguous: _, ...rest } = outcome
  return rest
}

function settle({ of, at }: Entry, outcome: Outcome): void {
  if (of.outcomes[at] !== undefined) return
  of.outcomes[at] = outcome
  of.open--
  if (of.open === 0) of.resolve()
}

function unexpected(error: unknown) {
  const detail = String((error as Error)?.message ?? error)
  const outcome = { kind: 'retry', reason: 'unknown', detail, scope: 'target', ambiguous: true } as const
  return { kind: 'failed', outcome } as const
}

const DELIVERED: Outcome = { kind: 'delivered' }
const STOPPED: Outcome = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'stopped before it was sent',
  scope: 'sink',
}
const UNKNOWN: Outcome = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'stopped before it was acknowledged',
  scope: 'sink',
  ambiguous: true,
}
