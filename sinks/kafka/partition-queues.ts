import type { Outcome } from '../../src/sink/index.ts'
import type { Retry, Verdict } from './errors.ts'
import type { KafkaRecord } from './format.ts'
import type { Produce, Target } from './producer.ts'

export interface Queued {
  readonly record: KafkaRecord
  /** Names of the message's object and of its key: records of one call that share a name keep their order. */
  readonly names: readonly string[]
}

/** Records for one partition from one call, in order, with their outcomes. */
export interface Submission {
  readonly outcomes: readonly (Outcome | undefined)[]
  /** Resolves when every record has an outcome. */
  readonly done: Promise<void>
  /** Stops sending records that are not under way, and returns an outcome for each. */
  stop(): Outcome[]
}

export interface PartitionQueues {
  submit(target: Target, records: readonly Queued[]): Submission
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

interface Entry extends Queued {
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
  /** Names of records that failed alone: only those behind them wait. */
  readonly held: Map<string, Retry>
  resolve(): void
}

/** What is known while a batch that failed is sent in parts. */
interface Search {
  /** Records that failed alone since the last delivery, with those that must not overtake them. */
  failing: { entry: Entry; outcome: Retry }[]
  /** Outcomes of those that failed alone since the last delivery. */
  alone: Retry[]
  delivered: boolean
}

/** Number of records that fail alone, one after the other, from which the broker counts as failing. */
const MOST_ALONE = 10
const MOST_REMEMBERED = 10_000

/**
 * One queue for each partition with pending records. Records that lanes submit during a request go with the next
 * one. One request at a time per partition keeps the order.
 */
export function createPartitionQueues(transmit: Produce, limits: BatchLimits): PartitionQueues {
  const pipes = new Map<string, Entry[]>()
  const running = new Set<Promise<void>>()
  /** Partitions that took records since one failed alone there. */
  const taking = new Set<string>()

  function submit(target: Target, records: readonly Queued[]): Submission {
    const { promise, resolve } = Promise.withResolvers<void>()
    const count = records.length
    const group: Group = {
      outcomes: new Array(count).fill(undefined),
      sent: new Array(count).fill(false),
      open: count,
      stopped: false,
      failed: undefined,
      held: new Map(),
      resolve,
    }
    const entries = records.map(({ record, names }, at): Entry => ({ record, names, of: group, at }))
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
    while (queue.length > 0) await send(target, key, queue.splice(0, cut(queue, limits)))
    pipes.delete(key)
  }

  /** Sends a batch, and decides whether records that failed alone are at fault themselves. */
  async function send(target: Target, key: string, entries: readonly Entry[]): Promise<void> {
    const search: Search = { failing: [], alone: [], delivered: false }
    await sendInOrder(target, entries, search)
    const { alone, delivered } = search
    settleFailing(search, alone.length < MOST_ALONE && (delivered || (alone.length === 1 && taking.has(key))))
    if (alone.length > 0) taking.delete(key)
    else if (delivered) {
      if (taking.size >= MOST_REMEMBERED) taking.clear()
      taking.add(key)
    }
  }

  /** Halves a batch until the offending record is alone; the others are delivered, in order. */
  async function sendInOrder(target: Target, entries: readonly Entry[], search: Search): Promise<void> {
    const batch = entries.filter((it) => !isBlocked(it) && !isHeld(it, search))
    const [first] = batch
    if (!first) return
    const outage = search.alone[MOST_ALONE - 1]
    if (outage) return fail(batch, outage)
    for (const { of, at } of batch) of.sent[at] = true
    const verdict = await transmit(
      target,
      batch.map(({ record }) => record),
    ).catch((error) => unexpected(error))
    if (verdict.kind === 'delivered') {
      for (const it of batch) settle(it, DELIVERED)
      search.delivered = true
      settleFailing(search, true)
    } else if (verdict.kind === 'moved' || (verdict.kind === 'failed' && !verdict.mayBeOfRecord))
      fail(batch, verdict.outcome)
    else if (batch.length === 1) {
      if (verdict.kind === 'refused')
        settle(first, { kind: 'rejected', reason: 'rejected', detail: verdict.detail })
      else {
        search.alone.push(verdict.outcome)
        hold(first, verdict.outcome, search)
      }
    } else {
      if (verdict.kind === 'refused') for (const { of, at } of batch) of.sent[at] = false
      const middle = batch.length >> 1
      await sendInOrder(target, batch.slice(0, middle), search)
      await sendInOrder(target, batch.slice(middle), search)
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
  const { stopped, failed, sent } = entry.of
  if (!stopped && !failed) return false
  const isSent = sent[entry.at] === true
  settle(entry, failed ? asSent(failed, isSent) : isSent ? UNKNOWN : STOPPED)
  return true
}

/** Whether it has to wait for a record of its object or key that failed alone. */
function isHeld(entry: Entry, search: Search): boolean {
  const { held, sent } = entry.of
  const name = entry.names.find((it) => held.has(it))
  if (name === undefined) return false
  hold(entry, asSent(held.get(name) as Retry, sent[entry.at] === true), search)
  return true
}

function hold(entry: Entry, outcome: Retry, search: Search): void {
  for (const name of entry.names) entry.of.held.set(name, outcome)
  search.failing.push({ entry, outcome })
}

/** `isOwn`: the partition takes other records, so it is not the broker that fails. */
function settleFailing(search: Search, isOwn: boolean): void {
  for (const { entry, outcome } of search.failing) {
    const own: Retry = isOwn ? { ...outcome, scope: 'event' } : outcome
    for (const name of entry.names) entry.of.held.set(name, own)
    settle(entry, own)
  }
  search.failing = []
  search.alone = []
}

function fail(batch: readonly Entry[], outcome: Outcome): void {
  for (const entry of batch) {
    entry.of.failed ??= outcome
    settle(entry, outcome)
  }
}

/** A record that was not sent cannot have arrived; one that was sent in a larger batch may have. */
function asSent<O extends Outcome>(outcome: O, isSent: boolean): O {
  if (outcome.kind !== 'retry' || isSent) return outcome
  const { ambiguous: _, ...rest } = outcome
  return rest as O
}

function settle({ of, at }: Entry, outcome: Outcome): void {
  if (of.outcomes[at] !== undefined) return
  of.outcomes[at] = outcome
  of.open--
  if (of.open === 0) of.resolve()
}

function unexpected(error: unknown): Verdict {
  const detail = String((error as Error)?.message ?? error)
  const outcome: Retry = { kind: 'retry', reason: 'unknown', detail, scope: 'target', ambiguous: true }
  return { kind: 'failed', outcome }
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
