import { access, constants, stat, statfs } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'
import * as z from 'zod'
import {
  createSemaphore,
  defineSink,
  type Health,
  type Message,
  type Outcome,
  type Sink,
  type SinkContext,
} from '../../src/sink/index.ts'
import {
  faultOf,
  followed,
  goneOrThrow,
  isFull,
  keepFullFiles,
  LogFile,
  notFile,
  type Retry,
} from './log-file.ts'

const UNITS: Readonly<Record<string, number>> = {
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
}
const INTERVALS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

const SIZE_RULE = 'must be a size such as 100MB or 1GiB'
const INTERVAL_RULE = 'must be minutes, hours or days, such as 15m, 1h or 1d'

const Size = z
  .string(SIZE_RULE)
  .regex(/^\d{1,6}([KMG]i?B|[KMG]i)$/, SIZE_RULE)
  .transform((text) => Number.parseInt(text, 10) * (UNITS[text.replace(/^\d+/, '').replace(/i$/, 'iB')] ?? 0))
  .refine((bytes) => bytes > 0, 'must be more than 0')

const Interval = z
  .string(INTERVAL_RULE)
  .regex(/^\d{1,4}[mhd]$/, INTERVAL_RULE)
  .transform((text) => Number.parseInt(text, 10) * (INTERVALS_MS[text.slice(-1)] ?? 0))
  .refine((ms) => ms > 0, 'must be longer than 0')

export const FileConfig = z.strictObject({
  path: z
    .string()
    .refine(isAbsolute, 'must be absolute, such as /var/log/kubeherald/events.ndjson')
    .refine((path) => !path.endsWith('/'), 'must name a file, not a folder')
    .refine((path) => !path.includes('\0'), 'must not have a zero character in it')
    .meta({
      description: 'The file, absolute; folders are made.',
      examples: ['/var/log/kubeherald/audit.ndjson'],
    }),
  /** Bytes that a file does not exceed, unless one line alone does. */
  maxSize: Size.prefault('100MB').meta({
    description: 'A new file is begun at this size; default: 100MB.',
    examples: ['1GiB'],
  }),
  /** Milliseconds. A file holds the deliveries of one such period, counted from midnight UTC. */
  interval: Interval.optional().meta({ description: 'A new file is begun so often.', examples: ['1d'] }),
  maxFiles: z
    .int()
    .min(1)
    .max(10_000)
    .default(10)
    .meta({ description: 'How many full files are kept; default: 10.' }),
  compress: z.boolean().default(false).meta({ description: 'Full files are packed with gzip.' }),
  fsync: z
    .boolean()
    .default(true)
    .meta({ description: 'Delivered only when the disk has it; default: true.' }),
})
export type FileConfig = z.output<typeof FileConfig>

/** Appends every event to a file, a CloudEvent a line; a delivery counts when the disk has it. */
export default defineSink<FileConfig>({
  apiVersion: 1,
  type: 'file',
  config: FileConfig,
  showsChanges: () => false,
  example: '{ type: file, path: /var/log/kubeherald/events.jsonl }',
  // For dry runs in which the variable of a path is missing.
  placeholders: { path: '/kubeherald-placeholder' },
  // One lane, so that lines keep the order of the events.
  lane: () => '0',
  preview: (message, { path }) => ({ target: path, body: lineOf(message).toString() }),
  open: openFile,
})

/** How far a batch has come, in messages from its beginning. */
interface Progress {
  /** Delivered, whatever happens later. */
  safe: number
  /** Handed to the system, in part or whole. */
  begun: number
}

function openFile(config: FileConfig, { log, metrics, clock }: SinkContext): Sink {
  const { path, fsync } = config
  const file = new LogFile(path)
  const full = keepFullFiles({ ...config, log })
  const begunFiles = metrics.counter('rotations_total', 'Files that were full and moved away.')
  const one = createSemaphore(1)
  const closing = new AbortController()
  // Ids that were written after their call had ended. They are delivered again, often one by one, and must not be written twice.
  const late = new Set<string>()

  full.look()

  async function write(batch: readonly Message[], progress: Progress, signal: AbortSignal): Promise<void> {
    await file.ready()
    for (const { lines, bytes } of groupsOf(batch.map(lineOf), config.maxSize)) {
      signal.throwIfAborted()
      const nowMs = clock.now()
      if (isFull(file.current, bytes, config, nowMs)) await rotate(progress, nowMs)
      const first = progress.begun
      progress.begun += lines.length
      let written = 0
      try {
        await file.append(Buffer.concat(lines), nowMs, (count) => {
          written = count
        })
      } finally {
        if (!fsync) progress.safe = first + wholeLines(lines, written)
      }
    }
    if (fsync) await file.sync()
    progress.safe = batch.length
  }

  async function rotate(progress: Progress, nowMs: number): Promise<void> {
    if (fsync) await file.sync()
    progress.safe = progress.begun
    await file.moveAway(nowMs)
    begunFiles()
    full.look()
    await file.ready()
  }

  async function deliver(batch: readonly Message[], signal: AbortSignal): Promise<Outcome[]> {
    const stop = AbortSignal.any([signal, closing.signal])
    const progress: Progress = { safe: 0, begun: 0 }
    let left = false
    let rest: readonly Message[] = []
    const work = one.run(async () => {
      rest = batch.filter(({ id }) => !late.has(id))
      try {
        await write(rest, progress, stop)
      } finally {
        if (left && late.size > MOST_LATE) late.clear()
        if (left) for (const { id } of rest.slice(0, progress.safe)) late.add(id)
      }
    }, stop)
    const failure = await unlessAborted(
      work.then(
        () => undefined,
        (error: unknown) => (stop.aborted ? STOPPED : faultOf(error, path)),
      ),
      stop,
      () => STOPPED,
    )
    left = true
    const places = new Map(rest.map(({ id }, i) => [id, i]))
    return batch.map((message) => {
      const place = places.get(message.id) ?? (late.delete(message.id) || !failure ? -1 : batch.length)
      return outcomeOf(place, progress, failure)
    })
  }

  return {
    deliver,
    health: (signal) =>
      unlessAborted(lookAt(config), signal, () => {
        throw signal.reason
      }),
    async close() {
      closing.abort()
      const soon = AbortSignal.timeout(CLOSE_MS)
      // Work under way ends by itself. A disk that hangs must not block the shutdown.
      await unlessAborted(
        one.run(() => file.close(), soon).catch(() => undefined),
        soon,
        () => undefined,
      )
      await full.close()
    },
  }
}

const CLOSE_MS = 2_000
/** Beyond that those before are forgotten: others may have delivered them. */
const MOST_LATE = 1_000

const DELIVERED: Outcome = { kind: 'delivered' }
const STOPPED: Retry = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'stopped before it was written',
  scope: 'sink',
}

function outcomeOf(place: number, { safe, begun }: Progress, failure: Retry | undefined): Outcome {
  if (!failure || place < safe) return DELIVERED
  return place < begun ? { ...failure, ambiguous: true } : failure
}

/** Returns how many lines are complete within the first bytes. */
function wholeLines(lines: readonly Buffer[], bytes: number): number {
  let count = 0
  for (let end = 0; count < lines.length; count++) {
    end += (lines[count] as Buffer).length
    if (end > bytes) break
  }
  return count
}

/** Resolves as the work does, or as `otherwise` when the signal is aborted first. A listener that stayed would keep the signal for ever. */
async function unlessAborted<T, U>(
  work: Promise<T>,
  signal: AbortSignal,
  otherwise: () => U,
): Promise<T | U> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>()
  const stop = () => resolve()
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work, aborted.then(otherwise)])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Checks whether a line could be written now, without creating anything. */
async function lookAt({ path, maxSize }: FileConfig): Promise<Health> {
  try {
    const there = await stat(path).catch(goneOrThrow)
    if (there && !there.isFile()) throw notFile()
    const place = there ? path : await folderFor(path)
    await access(place, constants.W_OK)
    const { bavail, bsize } = await statfs(place)
    const free = bavail * bsize
    if (free >= maxSize) return { ok: true }
    return { ok: true, warnings: [`only ${Math.floor(free / 1e6)} MB are free on the disk of ${path}`] }
  } catch (error) {
    const { reason, detail } = faultOf(error, path)
    return { ok: false, reason, detail }
  }
}

/** Only folders on the way to the path itself are made, not those on the way to where a link leads. */
async function folderFor(path: string): Promise<string> {
  const file = await followed(path)
  return file === path ? nearestFolder(dirname(path)) : dirname(file)
}

async function nearestFolder(path: string): Promise<string> {
  if (await stat(path).catch(goneOrThrow)) return path
  return path === dirname(path) ? path : nearestFolder(dirname(path))
}

const LINE_FEED = 0x0a
const BLANK = 0x20

/** Returns a CloudEvent as one line. JSON permits line feeds between values only, where a space is equivalent. */
export function lineOf({ cloudEvent }: Pick<Message, 'cloudEvent'>): Buffer {
  const line = Buffer.allocUnsafe(cloudEvent.length + 1)
  cloudEvent.copy(line)
  for (
    let at = line.indexOf(LINE_FEED);
    at !== -1 && at < cloudEvent.length;
    at = line.indexOf(LINE_FEED, at)
  )
    line[at] = BLANK
  line[cloudEvent.length] = LINE_FEED
  return line
}

/** Lines that are written with one call, in order. */
interface Group {
  lines: readonly Buffer[]
  bytes: number
}

const MAX_GROUP_BYTES = 1024 * 1024

/** Groups of about 1 MiB that fit into a file; a line that is longer has a group of its own. */
function groupsOf(lines: Iterable<Buffer>, maxBytes: number): Group[] {
  const limit = Math.min(maxBytes, MAX_GROUP_BYTES)
  const groups: Group[] = []
  let [current, bytes]: [Buffer[], number] = [[], 0]
  for (const line of lines) {
    if (current.length > 0 && bytes + line.length > limit) {
      groups.push({ lines: current, bytes })
      ;[current, bytes] = [[], 0]
    }
    current.push(line)
    bytes += line.length
  }
  if (current.length > 0) groups.push({ lines: current, bytes })
  return groups
}
