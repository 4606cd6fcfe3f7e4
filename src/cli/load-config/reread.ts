import { dirname, resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import { assemble } from '../../config/assemble.ts'
import type { CheckedValue } from '../../config/checked-value.ts'
import type { SinkTypes } from '../../config/lint/sinks.ts'
import type { Problem } from '../../config/problem.ts'
import type { Config } from '../../config/schema.ts'
import type { SinkType } from '../../sink/index.ts'
import { FileReads, type ReadsData } from './file-reads.ts'
import { isColoured, type ReadSource, type Rejected, tryRead } from './read-configuration.ts'

export type Reread = { reads: FileReads } & (
  | Rejected
  | {
      ok: true
      config: Config
      digest: string | undefined
      warnings: readonly Problem[]
      /** The warnings with their lines. */
      shownWarnings: string
    }
)

interface RereadTypes {
  builtIn: SinkTypes
  /** Loaded at the start, and not again. */
  plugins: Readonly<Record<string, SinkType>>
}

/**
 * Reads a configuration again while the process works: a worker thread parses and checks it, so that a large one does not block the
 * event loop; here it is only assembled. Throws when the worker fails; then nothing is known of the configuration.
 */
export async function reread(source: ReadSource, types: RereadTypes): Promise<Reread> {
  const pluginTypes = Object.keys(types.plugins)
  const read = await readInWorker({ source, colour: isColoured(), pluginTypes })
  const reads = FileReads.from(read.reads)
  if (!read.ok) return { ...read, reads }
  const { digest, warnings, shownWarnings } = read
  const folder = dirname(resolve(source.shown))
  const loaders = Object.entries(types.plugins).map(([name, type]) => [name, async () => type] as const)
  const sinkTypes = { ...types.builtIn, ...Object.fromEntries(loaders) }
  const config = await assemble(read, { folder, sinkTypes })
  if (config) return { ok: true, reads, config, digest, warnings, shownWarnings }
  // Options of a plug-in's sink are wrong; the worker cannot check those. Here they are reported with their place.
  return rereadHere(source, types)
}

async function rereadHere(source: ReadSource, { builtIn, plugins }: RereadTypes): Promise<Reread> {
  const reads = new FileReads()
  const read = await tryRead(source, reads, { sinkTypes: builtIn, pluginTypes: plugins })
  if (!read.ok) return { ...read, reads }
  const { digest, shownWarnings, loaded } = read
  return { ok: true, reads, config: loaded.config, digest, warnings: loaded.warnings, shownWarnings }
}

/** A request to the worker; plain data. */
export interface ReadRequest {
  source: ReadSource
  colour: boolean
  /** The `type:` of plug-ins: their options are not checked. */
  pluginTypes: readonly string[]
}

/** The worker's first answer; its rules follow in pieces. */
export type WorkerRead = { reads: ReadsData } & (
  | Rejected
  | ({
      ok: true
      digest: string | undefined
      warnings: readonly Problem[]
      shownWarnings: string
      ruleCount: number
    } & Omit<CheckedValue, 'rules'>)
)

type WholeRead = Extract<WorkerRead, { ok: false }> | (Extract<WorkerRead, { ok: true }> & CheckedValue)

interface WorkerLimits {
  timeoutMs?: number
  heapMb?: number
  /** The file that the worker runs; for tests. */
  entry?: URL
}

/** The largest configuration that is accepted needs some seconds. */
const TIMEOUT_MS = 60_000

/** It needs a third of that; a hostile one must not exhaust the process. */
const HEAP_MB = 512

/** Next to the bundle, else next to this file. */
const ENTRY = new URL(
  import.meta.url.endsWith('.ts') ? './reading-thread.ts' : './reading-thread.js',
  import.meta.url,
)

/** Requests the next rules. */
export const MORE = 'more'

/** A second reload often follows soon, and a thread takes its time to start. */
const IDLE_MS = 30_000

let idle: { thread: Worker; timer: NodeJS.Timeout } | undefined

/**
 * Reads and checks a configuration in a worker thread, which ends 30 s after its last read, with all its memory. Throws when it
 * cannot.
 */
export async function readInWorker(request: ReadRequest, limits: WorkerLimits = {}): Promise<WholeRead> {
  const { timeoutMs = TIMEOUT_MS, heapMb = HEAP_MB, entry = ENTRY } = limits
  const isReusable = entry === ENTRY && heapMb === HEAP_MB
  const thread = (isReusable && takeIdle()) || start(entry, heapMb)
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => {})
  const onError = (error: unknown) => ended.reject(faultOf(error, heapMb))
  const onExit = () => ended.reject(new Error('the thread that read the configuration ended too early'))
  thread.once('error', onError).once('exit', onExit)
  const timer = setTimeout(
    () => ended.reject(new Error(`the configuration could not be read within ${timeoutMs / 1_000} seconds`)),
    timeoutMs,
  )
  try {
    thread.postMessage(request)
    const read = await Promise.race([receive(thread), ended.promise])
    if (isReusable) keepIdle(thread)
    return read
  } finally {
    clearTimeout(timer)
    thread.off('error', onError).off('exit', onExit)
    if (idle?.thread !== thread) await thread.terminate()
  }
}

function start(entry: URL, heapMb: number): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: heapMb }
  const thread = new Worker(entry, { execArgv: [], resourceLimits })
  thread.unref()
  thread.on('error', () => {})
  thread.on('exit', () => {
    if (idle?.thread === thread) takeIdle()
  })
  return thread
}

function keepIdle(thread: Worker): void {
  const timer = setTimeout(() => void takeIdle()?.terminate(), IDLE_MS)
  timer.unref()
  if (idle) void takeIdle()?.terminate()
  idle = { thread, timer }
}

function takeIdle(): Worker | undefined {
  const thread = idle?.thread
  clearTimeout(idle?.timer)
  idle = undefined
  return thread
}

async function receive(thread: Worker): Promise<WholeRead> {
  const first = (await nextMessage(thread)) as WorkerRead
  if (!first.ok) return first
  const rules: unknown[] = []
  while (rules.length < first.ruleCount) {
    thread.postMessage(MORE)
    rules.push(...((await nextMessage(thread)) as unknown[]))
  }
  return { ...first, rules }
}

function nextMessage(thread: Worker): Promise<unknown> {
  return new Promise((resolve) => thread.once('message', resolve))
}

function faultOf(error: unknown, heapMb: number): Error {
  const { code, message } = error as NodeJS.ErrnoException
  return new Error(
    code === 'ERR_WORKER_OUT_OF_MEMORY'
      ? `the configuration needs more than ${heapMb} MB of memory to be read`
      : `the configuration could not be read: ${message}`,
  )
}
