import { access, constants, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import {
  createSlots,
  defineSink,
  type Health,
  type Message,
  type Outcome,
  type Sink,
  type SinkContext,
} from '../../src/sink/index.ts'
import { FileConfig } from './config.ts'
import { faultOf, goneOrThrow, notFile, type Retry } from './fault.ts'
import { groupsOf, lineOf } from './format.ts'
import { keepFullFiles } from './full-files.ts'
import { LogFile } from './log-file.ts'
import { isFull } from './rotation.ts'

/** Appends every event to a file, a CloudEvent a line; a delivery counts when the disk has it. */
export default defineSink<FileConfig>({
  apiVersion: 1,
  type: 'file',
  config: FileConfig,
  tellsChanges: () => false,
  // One lane: lines stand in the order in which things happened.
  lane: () => '0',
  preview: (message, { path }) => ({ target: path, body: lineOf(message).toString() }),
  open: openFile,
})

/** How far a batch has come, in messages from its beginning. */
interface Progress {
  /** Delivered, whatever comes. */
  safe: number
  /** Handed to the system, in part or whole. */
  begun: number
}

export function openFile(config: FileConfig, { log, metrics, clock }: SinkContext): Sink {
  const { path, fsync } = config
  const file = new LogFile(path)
  const full = keepFullFiles({ ...config, log })
  const begunFiles = metrics.counter('rotations_total', 'Files that were full and moved away.')
  const one = createSlots(1)
  const closing = new AbortController()
  // What was written after its call had ended: it comes again, and is there already.
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
        if (!left) late.clear()
      } finally {
        if (left) for (const { id } of rest.slice(0, progress.safe)) late.add(id)
      }
    }, stop)
    const failure = await Promise.race([
      work.then(
        () => undefined,
        (error: unknown) => (stop.aborted ? STOPPED : faultOf(error, path)),
      ),
      whenAborted(stop),
    ])
    left = true
    const places = new Map(rest.map(({ id }, i) => [id, i]))
    return batch.map((message) => {
      const place = places.get(message.id) ?? (late.has(message.id) || !failure ? -1 : batch.length)
      return outcomeOf(place, progress, failure)
    })
  }

  return {
    deliver,
    health: (signal) => Promise.race([lookAt(config), rejectedWhenAborted(signal)]),
    async close() {
      closing.abort()
      const soon = AbortSignal.timeout(CLOSE_MS)
      // What is under way ends by itself; a disk that hangs must not keep anybody waiting.
      await Promise.race([one.run(() => file.close(), soon).catch(() => undefined), whenAborted(soon)])
      await full.close()
    },
  }
}

const CLOSE_MS = 2_000

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

/** How many lines lie wholly within the first bytes. */
function wholeLines(lines: readonly Buffer[], bytes: number): number {
  let count = 0
  for (let end = 0; count < lines.length; count++) {
    end += (lines[count] as Buffer).length
    if (end > bytes) break
  }
  return count
}

function whenAborted(signal: AbortSignal): Promise<Retry> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(STOPPED)
    else signal.addEventListener('abort', () => resolve(STOPPED), { once: true })
  })
}

async function rejectedWhenAborted(signal: AbortSignal): Promise<never> {
  await whenAborted(signal)
  throw signal.reason
}

/** Could a line be written now? Makes nothing. */
async function lookAt({ path, maxSize }: FileConfig): Promise<Health> {
  try {
    const there = await stat(path).catch(goneOrThrow)
    if (there && !there.isFile()) throw notFile()
    const place = there ? path : await nearestFolder(dirname(path))
    await access(place, constants.W_OK)
    const { bavail, bsize } = await statfs(place)
    const free = bavail * bsize
    if (free >= maxSize) return { ok: true }
    return { ok: true, warnings: [`only ${Math.floor(free / 1e6)} MB are free where ${path} lies`] }
  } catch (error) {
    const { reason, detail } = faultOf(error, path)
    return { ok: false, reason, detail }
  }
}

async function nearestFolder(path: string): Promise<string> {
  if (await stat(path).catch(goneOrThrow)) return path
  return path === dirname(path) ? path : nearestFolder(dirname(path))
}
