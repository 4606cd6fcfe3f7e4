import type { Redis } from 'ioredis'
import type { Delivery } from '../../model/delivery.ts'
import type { QueueStatus } from '../../model/status.ts'
import type { Logger } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import type { Keys } from '../keys.ts'
import { createClockJumps } from '../lanes/clock-jumps.ts'
import {
  archiveToLane,
  countableDeadLetters,
  type Discarded,
  discardDeadLetters,
} from '../lanes/dead-letter-actions.ts'
import { oldestDeadLetters, type StoredDeadLetter } from '../lanes/dead-letters.ts'
import { PAGE_BYTES, PageSize } from '../lanes/page-size.ts'
import { ForeignKeyError, isTransient, rootOf } from '../redis/redis-fault.ts'
import { runScript, script } from '../redis/script.ts'
import { BoundReport } from './bound-report.ts'
import { type MeasuredStream, MeasuringPauses, measureStreams } from './lane-sizes.ts'
import { bytesOfEntry, excess, type QueueBounds } from './queue-bounds.ts'

/** Where dead letters go before they are deleted. */
export type Archive =
  | {
      kind: 'file'
      /** Resolves when the letters are on the disk; rejects with what is wrong. */
      write(letters: readonly StoredDeadLetter[]): Promise<void>
    }
  | { kind: 'sink'; sink: string; laneOf(delivery: Delivery): string; wake(lanes: readonly string[]): void }

interface DeadLetterBoundsParts {
  redis: Redis
  keys: Keys
  metrics: Metrics
  log: Logger
  clock: { now(): number }
  /** The process's own, unique. */
  id: string
  /** Undefined while they are not known yet. */
  bounds(): QueueBounds | undefined
  archive(): Archive | undefined
}

/** Keeps the dead letters within their bounds: the oldest beyond go to the archive, if there is one, and are deleted. */
export interface DeadLetterBounds {
  /** Adds an estimate of the bytes of new dead letters to the last measurement. */
  added(bytes: number): void
  status(): QueueStatus | undefined
  close(): Promise<void>
}

const LOOK_MS = 2_000
const SOON_MS = 100
/** Time limit of one write to an archive file. */
export const ARCHIVE_WRITE_MS = 60_000
/**
 * One process at a time deletes dead letters: what two archive is there twice. The turn is longer than WORK_MS, to which a write to a
 * file is added, and stays with its process as long as there is something to delete.
 */
const TURN_MS = 15_000
const MOST_ROWS = 500
const WORK_MS = 5_000
/** Maximum size of the dead letters that wait while the archive fails, as a multiple of their bound in bytes. */
const WAITING = 2

/** A dead letter beyond the bounds, and what it takes in bytes. */
interface Due {
  letter: StoredDeadLetter
  freed: number
}

export function createDeadLetterBounds(parts: DeadLetterBoundsParts): DeadLetterBounds {
  const { redis, keys, metrics, log, clock } = parts
  const jumps = createClockJumps(clock)
  let bytes = 0
  let added = 0
  let archiveFault: string | undefined
  let running: Promise<void> | undefined
  let closed = false
  /** Letters that were deleted since the start. */
  let deleted = 0
  const pauses = new MeasuringPauses()
  /** As it was measured last. */
  let sample: MeasuredStream | undefined
  let soon: NodeJS.Timeout | undefined
  const page = new PageSize(MOST_ROWS)
  const report = new BoundReport<Discarded>({
    log,
    clock,
    publish(status) {
      metrics.deadLettersBytes.set(status.bytes)
      metrics.deadLettersMaxBytes.set(status.maxBytes)
    },
    soon: () =>
      `the dead letters reach their maxBytes: then the oldest are ${parts.archive() ? 'archived' : 'dropped'}`,
    removed: (how) => ({ message: `the oldest dead letters were ${how}` }),
  })

  async function look(): Promise<void> {
    const bounds = parts.bounds()
    if (!bounds) return
    bytes += added
    added = 0
    const isEstimated = sample !== undefined && pauses.isResting
    if (!isEstimated) await measure()
    const beforeMs = jumps.agoMs(bounds.maxAgeMs)
    const isDue = () => bytes > bounds.maxBytes || (sample !== undefined && sample.oldestMs < beforeMs)
    let isTurn = false
    try {
      const writeMs = parts.archive()?.kind === 'file' ? ARCHIVE_WRITE_MS : 0
      isTurn = isDue() && (await takeTurn(TURN_MS + writeMs))
      // Nothing is discarded by an estimate.
      if (isTurn && isEstimated) await measure()
    } finally {
      // Also while Redis refuses the turn.
      report.measured(bytes, bounds)
    }
    const untilMs = performance.now() + WORK_MS
    try {
      while (sample && isTurn && isDue() && (await discard(bounds, sample, beforeMs, untilMs)))
        await measure()
    } finally {
      // Other processes do not wait for a write that is over, should this one end.
      if (isTurn) await takeTurn(TURN_MS)
    }
    report.logRemoved(bytes)
  }

  async function measure(): Promise<void> {
    const measured = await pauses.note(() => measureStreams(redis, [keys.deadLetters]))
    sample = measured.get(keys.deadLetters)
    bytes = sample?.bytes ?? 0
  }

  /** Takes the turn, or keeps it, for `ms` from now. Returns false while another process has it. */
  async function takeTurn(ms: number): Promise<boolean> {
    return (await runScript(redis, TURN, [keys.deadLettersTurn, keys.deadLetters], [parts.id, ms])) === 1
  }

  /**
   * Discards what is beyond the bounds, as far as it is known: Redis frees memory only with the last letter of a node, so that a letter
   * may free more than it takes itself. Returns whether it can go on, after a measurement.
   */
  async function discard(
    bounds: QueueBounds,
    sample: MeasuredStream,
    beforeMs: number,
    untilMs: number,
  ): Promise<boolean> {
    const average = sample.bytes / sample.entries
    let left = excess(bytes, bounds.maxBytes)
    let start = '-'
    let hasDiscarded = false
    while (performance.now() < untilMs && !closed) {
      const { count } = page
      const due: Due[] = []
      let read = 0
      // The page is sized by the last one: it may have letters that are far larger.
      for await (const { letter, bytes: size } of oldestDeadLetters(redis, keys, start, count)) {
        if (left <= 0 && letter.atMs >= beforeMs) break
        const freed = Math.max(bytesOfEntry(size), average)
        due.push({ letter, freed })
        left -= freed
        read += size + (letter.delivery?.objectJson.length ?? 0)
        if (read > PAGE_BYTES) break
      }
      if (due.length === 0) return hasDiscarded
      page.note(due.length, read)
      const before = deleted
      const tried = await discardPortion(due, bytes - WAITING * bounds.maxBytes)
      bytes = Math.max(0, bytes - tried.reduce((sum, { freed }) => sum + freed, 0))
      if (tried.length < due.length) return false
      hasDiscarded ||= deleted > before
      if (due.length < count && read <= PAGE_BYTES) return hasDiscarded
      start = `(${due.at(-1)?.letter.id}`
    }
    return false
  }

  /** Deletes what the archive has; while it fails only the oldest `most` bytes. Returns those that were tried. */
  async function discardPortion(due: readonly Due[], most: number): Promise<readonly Due[]> {
    const archive = parts.archive()
    const letters = due.map(({ letter }) => letter)
    try {
      if (!archive) await drop(letters)
      else if (archive.kind === 'file') await toFile(archive, letters)
      else await toSink(archive, letters)
      if (archive && archiveFault !== undefined) log.info({}, 'dead letters can be archived again')
      archiveFault = undefined
      return due
    } catch (error) {
      if (isTransient(error)) throw error
      // A stop ends a write that takes long.
      if (closed) return []
      const fault = (error as Error).message
      if (fault !== archiveFault) log.error({ error: fault }, 'dead letters cannot be archived; they wait')
      archiveFault = fault
      let freed = 0
      const excess = due.filter((it) => {
        const isExcess = freed < most
        freed += it.freed
        return isExcess
      })
      await drop(excess.map(({ letter }) => letter))
      return excess
    }
  }

  async function toFile(
    archive: Extract<Archive, { kind: 'file' }>,
    letters: readonly StoredDeadLetter[],
  ): Promise<void> {
    // Others would be written again with each look.
    const some = await countableDeadLetters(redis, keys, letters, 'archived')
    if (some.length > 0) await archive.write(some)
    count(await discardDeadLetters(redis, keys, some, 'archived'), 'archived')
  }

  /**
   * What cannot be read cannot be delivered anywhere, and letters of the archive's own sink have nowhere to go: those are dropped. Throws
   * if another program took a key of the archive, once the other lanes have theirs.
   */
  async function toSink(
    { sink, laneOf, wake }: Extract<Archive, { kind: 'sink' }>,
    letters: readonly StoredDeadLetter[],
  ): Promise<void> {
    const lanes = new Set<string>()
    const rest: StoredDeadLetter[] = []
    let fault: string | undefined
    for (const letter of letters) {
      const { delivery } = letter
      if (!delivery || letter.sink === sink || letter.sink === '') {
        rest.push(letter)
        continue
      }
      const lane = laneOf({ ...delivery, sink })
      try {
        if (!(await archiveToLane(redis, keys, { ...letter, delivery }, { sink, lane }))) continue
      } catch (error) {
        const foreign = rootOf(error)
        if (!(foreign instanceof ForeignKeyError)) throw error
        fault = foreign.message
        continue
      }
      lanes.add(lane)
      count([letter], 'archived')
    }
    wake([...lanes])
    await drop(rest)
    if (fault !== undefined) throw new Error(fault)
  }

  async function drop(letters: readonly StoredDeadLetter[]): Promise<void> {
    count(await discardDeadLetters(redis, keys, letters, 'dropped'), 'dropped')
  }

  function count(letters: readonly StoredDeadLetter[], how: Discarded): void {
    const counter = how === 'archived' ? metrics.deadLettersArchived : metrics.deadLettersDropped
    deleted += letters.length
    for (const { sink, count } of letters) {
      counter.inc({ sink }, count)
      report.count(how, count)
    }
  }

  function tick(): void {
    if (closed) return
    running ??= look()
      .catch((error) => log.debug({ error }, 'the bounds of dead letters were not looked at; they are again'))
      .finally(() => {
        running = undefined
        // More may have come meanwhile.
        if (archiveFault === undefined) lookSoon()
      })
  }

  function lookSoon(): void {
    if (closed || !report.status || bytes + added <= report.status.maxBytes) return
    soon ??= setTimeout(() => {
      soon = undefined
      tick()
    }, SOON_MS)
  }

  const timer = setInterval(tick, LOOK_MS)
  tick()
  return {
    added(some) {
      added += some
      lookSoon()
    },
    status: () => report.status,
    async close() {
      closed = true
      clearInterval(timer)
      clearTimeout(soon)
      await running
    },
  }
}

/** The XDEL changes nothing: a script that has written may go on while Redis is full. */
const TURN = script(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('XDEL', KEYS[2], '0-0')
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`)
