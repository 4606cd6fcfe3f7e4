import { setTimeout as pause } from 'node:timers/promises'
import type { Message } from '../message.ts'
import { NOTES, type Outcome, REASONS, SCOPES } from '../sink.ts'

const MAX_DETAIL_BYTES = 2_048

/** Returns the faults of a batch's outcomes: number, shapes, order of each object. */
export function faultsOfAnswer(batch: readonly Message[], answer: unknown): string[] {
  if (!Array.isArray(answer)) return [`deliver gave ${shown(answer)} in place of a list of outcomes`]
  if (answer.length !== batch.length)
    return [`deliver gave ${answer.length} outcomes for ${batch.length} messages`]
  return [
    ...answer.flatMap((it: unknown, i) => faultsOfOutcome(it).map((fault) => `outcome ${i}: ${fault}`)),
    ...faultsOfOrder(batch, answer as Outcome[]),
  ]
}

/** Returns the faults of an outcome's shape. */
export function faultsOfOutcome(outcome: unknown): string[] {
  if (typeof outcome !== 'object' || outcome === null) return [`${shown(outcome)} is no outcome`]
  const { kind, note, reason, detail, scope, afterMs, ambiguous } = outcome as Record<string, unknown>
  const faults: string[] = []
  const refuse = (isFault: boolean, fault: string) => void (isFault && faults.push(fault))
  switch (kind) {
    case 'delivered':
      refuse(note !== undefined && !isOneOf(NOTES, note), `the note ${shown(note)} is none of the contract's`)
      return faults
    case 'later':
      refuse(!isDelay(afterMs), `afterMs is ${shown(afterMs)}, not a number of milliseconds from 0`)
      return faults
    case 'retry':
      refuse(!isOneOf(SCOPES, scope), `the scope ${shown(scope)} is none of event, target, sink`)
      refuse(afterMs !== undefined && !isDelay(afterMs), `afterMs is ${shown(afterMs)}`)
      refuse(ambiguous !== undefined && ambiguous !== true, `ambiguous is ${shown(ambiguous)}, not true`)
      break
    case 'rejected':
      break
    default:
      return [`the kind ${shown(kind)} is none of delivered, later, retry, rejected`]
  }
  refuse(!isOneOf(REASONS, reason), `the reason ${shown(reason)} is none of the contract's`)
  refuse(
    typeof detail !== 'string' || detail === '',
    `detail is ${shown(detail)}, not a text with the reason`,
  )
  refuse(
    typeof detail === 'string' && Buffer.byteLength(detail) > MAX_DETAIL_BYTES,
    `detail has more than ${MAX_DETAIL_BYTES} bytes`,
  )
  return faults
}

/** A message after a `retry` or `later` of its object must not be delivered: it would overtake. */
function faultsOfOrder(batch: readonly Message[], outcomes: readonly Outcome[]): string[] {
  const held = new Map<string, number>()
  return batch.flatMap(({ event }, i) => {
    const { kind } = outcomes[i] ?? {}
    const before = held.get(event.uid)
    if (kind === 'retry' || kind === 'later') held.set(event.uid, before ?? i)
    return before !== undefined && kind === 'delivered'
      ? [`outcome ${i} is delivered, though outcome ${before} of the same object is not`]
      : []
  })
}

function isOneOf(closed: readonly unknown[], value: unknown): boolean {
  return closed.includes(value)
}

function isDelay(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function shown(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 200) ?? String(value)
}

/** A sink violates the contract; the message describes how. */
export class ConformanceFault extends Error {
  override name = 'ConformanceFault'
}

/** Throws a fault unless it is so. */
export function expect(isSo: boolean, fault: string | (() => string)): asserts isSo {
  if (!isSo) throw new ConformanceFault(typeof fault === 'string' ? fault : fault())
}

/** Ends a check that cannot be made here. */
export class Skip extends Error {
  override name = 'Skip'
}

export function skip(why: string): never {
  throw new Skip(why)
}

const TICK_MS = 10

/** Waits for a promise. Throws a ConformanceFault after `ms` in which this process was not busy with other things. */
export async function within<T>(ms: number, promise: Promise<T>, what: string): Promise<T> {
  const late = Symbol('late')
  const stop = new AbortController()
  try {
    const first = await Promise.race([promise, ticks(ms, stop.signal).then(() => late)])
    if (first !== late) return first as T
    throw new ConformanceFault(`${what} did not end within ${ms} ms`)
  } finally {
    stop.abort()
  }
}

async function ticks(ms: number, signal: AbortSignal): Promise<void> {
  for (let left = ms; left > 0 && !signal.aborted; left -= TICK_MS) await pause(TICK_MS)
}
