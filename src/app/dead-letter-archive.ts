import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '../config/schema.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Message, Sink, SinkContext, SinkType } from '../sink/index.ts'
import {
  ARCHIVE_WRITE_MS,
  type Archive,
  createDeadLetterBounds,
  type DeadLetterBounds,
} from '../store/bounds/dead-letter-bounds.ts'
import { deadLetterBytes } from '../store/bounds/queue-bounds.ts'
import type { Keys } from '../store/keys.ts'
import type { StoredDeadLetter } from '../store/lanes/dead-letters.ts'
import type { Lanes } from '../store/lanes/lanes.ts'
import type { MemoryGate } from '../store/redis/memory-gate.ts'
import type { ConfigSnapshots } from './config-snapshot.ts'
import { type Connections, usableMemory } from './redis.ts'
import type { Stages } from './shutdown.ts'

interface DeadLetterArchiveParts {
  snapshots: ConfigSnapshots
  /** The sink type that writes files. */
  load(): Promise<SinkType>
  contextOf(name: string, type: SinkType): SinkContext
  /** Undefined until this process delivers. */
  lanes: Pick<Lanes, 'wake'>
  /** Time limit of a write: a disk that hangs, such as a network's, must not stop what keeps the dead letters within their bounds. */
  deadlineMs?: number
}

type FileArchive = NonNullable<NonNullable<Config['deadLetters']>['archive']>

const NAME = 'dead-letters'

/** The archive of dead letters of the current configuration. The file sink writes an archive file. */
export function deadLetterArchive({
  snapshots,
  load,
  contextOf,
  lanes,
  deadlineMs = ARCHIVE_WRITE_MS,
}: DeadLetterArchiveParts) {
  let opened: { of: string; sink: Sink } | undefined

  async function fileSink(settings: FileArchive): Promise<Sink> {
    const { file: path = '', maxSize, maxFiles = 10 } = settings
    const of = JSON.stringify(settings)
    if (opened?.of === of) return opened.sink
    await opened?.sink.close()
    opened = undefined
    const type = await load()
    const options = { path, maxSize: maxSize ?? 100e6, maxFiles, compress: false, fsync: true }
    opened = { of, sink: await type.open(options, contextOf(NAME, type)) }
    return opened.sink
  }

  async function write(settings: FileArchive, letters: readonly StoredDeadLetter[]): Promise<void> {
    const sink = await fileSink(settings)
    const batch = letters.map((letter) => ({ id: letter.id, cloudEvent: archivedLine(letter) }) as Message)
    const outcomes = await sink.deliver(batch, AbortSignal.timeout(deadlineMs))
    const failed = outcomes.find((it) => it.kind === 'retry' || it.kind === 'rejected')
    if (failed) throw new Error(failed.detail)
  }

  return {
    current(): Archive | undefined {
      const settings = snapshots.current.config.deadLetters?.archive
      const { sink } = settings ?? {}
      if (!settings) return undefined
      if (sink === undefined) return { kind: 'file', write: (letters) => write(settings, letters) }
      return {
        kind: 'sink',
        sink,
        laneOf: (delivery) => snapshots.of(sink).laneOf(delivery),
        wake: (some) => lanes.wake(some),
      }
    },
    async close(): Promise<void> {
      await opened?.sink.close()
    },
  }
}

/** Default retention of dead letters. */
const DEAD_LETTERS_MS = 7 * 86_400_000

/** For the deletion under way when the process stops. */
const GRACE_MS = 1_000

interface DeadLettersParts extends Omit<DeadLetterArchiveParts, 'deadlineMs'> {
  keys: Keys
  metrics: Metrics
  log: Logger
  clock: { now(): number }
  /** The name of this process. */
  instance: string
  connections: Connections
  gate: MemoryGate
}

/** Keeps the dead letters within the bounds of the current configuration, and archives those beyond. */
export function startDeadLetters(
  parts: DeadLettersParts,
  { deadLetters }: Pick<Stages, 'deadLetters'>,
): DeadLetterBounds {
  const { keys, metrics, log, clock, instance, connections, snapshots, gate, load, contextOf, lanes } = parts
  const archive = deadLetterArchive({ snapshots, load, contextOf, lanes })
  deadLetters.defer(() => archive.close())
  const bounds = createDeadLetterBounds({
    ...{ keys, metrics, log, clock },
    redis: connections.report,
    id: instance,
    archive: archive.current,
    bounds() {
      const { config } = snapshots.current
      const { maxAge = DEAD_LETTERS_MS, maxBytes } = config.deadLetters ?? {}
      const maxmemory = usableMemory(gate, config)
      if (maxmemory === undefined) return undefined
      return { maxAgeMs: maxAge, maxBytes: deadLetterBytes(maxmemory, maxBytes) }
    },
  })
  // A disk that hangs holds up a write of the archive: its close ends that.
  deadLetters.defer(() => Promise.race([bounds.close(), pause(GRACE_MS, undefined, { ref: false })]))
  return bounds
}

/** Returns a dead letter as one line of JSON, with the object, or with the bytes (base64) of an unreadable one. */
function archivedLine({ delivery, payload, atMs, ...letter }: StoredDeadLetter): Buffer {
  const about = { ...letter, at: new Date(atMs).toISOString() }
  if (!delivery) return Buffer.from(JSON.stringify({ ...about, payload: payload.toString('base64') }))
  const { objectJson, sink: _s, rule: _r, ...rest } = delivery
  const text = objectJson.toString()
  return Buffer.from(JSON.stringify({ ...about, ...rest, ...objectIn(text) }))
}

function objectIn(text: string): { object: unknown } | { objectText: string } {
  try {
    return { object: JSON.parse(text) }
  } catch {
    return { objectText: text }
  }
}
