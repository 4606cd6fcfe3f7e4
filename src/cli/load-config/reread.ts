import { Worker } from 'node:worker_threads'
import type { CheckedValue } from '../../config/checked-value.ts'
import type { Problem } from '../../config/problem.ts'
import type { ReadsNoted } from './file-reads.ts'
import type { ReadSource } from './read-once.ts'

/** What the thread is asked; plain data. */
export interface ApartRequest {
  source: ReadSource
  /** For problems with their lines. */
  colour: boolean
  /** The words behind `type:` of plug-ins: what they take is not checked. */
  pluginTypes: readonly string[]
}

/** Its first answer. */
export type ApartRead = { reads: ReadsNoted } & (
  | { ok: false; problem: string; shown: string; place?: string | undefined }
  | ({
      ok: true
      digest: string | undefined
      warnings: readonly Problem[]
      shownWarnings: string
      /** How many rules there are to be asked for. */
      count: number
    } & Omit<CheckedValue, 'rules'>)
)

type Whole = Extract<ApartRead, { ok: false }> | (Extract<ApartRead, { ok: true }> & CheckedValue)

export interface ApartLimits {
  timeoutMs?: number
  heapMb?: number
  /** What the thread runs; for tests. */
  entry?: URL
}

/** The largest configuration that is taken needs some seconds. */
const TIMEOUT_MS = 60_000

/** It needs a third of that; a hostile one must not take the process with it. */
const HEAP_MB = 512

/** Beside the bundle, else beside this file. */
const ENTRY = new URL(
  import.meta.url.endsWith('.ts') ? './reading-thread.ts' : './reading-thread.js',
  import.meta.url,
)

/** Asks for the next rules. */
export const MORE = 'more'

/** Who reloads once often does so again, and a thread takes its time to start. */
const REST_MS = 30_000

let resting: { thread: Worker; timer: NodeJS.Timeout } | undefined

/**
 * Reads and checks a configuration in a thread of its own, which ends half a minute after the last reading, with all its memory.
 * Throws when it cannot.
 */
export async function readApart(request: ApartRequest, limits: ApartLimits = {}): Promise<Whole> {
  const { timeoutMs = TIMEOUT_MS, heapMb = HEAP_MB, entry = ENTRY } = limits
  const isUsual = entry === ENTRY && heapMb === HEAP_MB
  const thread = (isUsual && wake()) || start(entry, heapMb)
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
    const read = await Promise.race([readFrom(thread), ended.promise])
    if (isUsual) rest(thread)
    return read
  } finally {
    clearTimeout(timer)
    thread.off('error', onError).off('exit', onExit)
    if (resting?.thread !== thread) await thread.terminate()
  }
}

function start(entry: URL, heapMb: number): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: heapMb }
  const thread = new Worker(entry, { execArgv: [], resourceLimits })
  thread.unref()
  thread.on('error', () => {})
  thread.on('exit', () => {
    if (resting?.thread === thread) wake()
  })
  return thread
}

function rest(thread: Worker): void {
  const timer = setTimeout(() => void wake()?.terminate(), REST_MS)
  timer.unref()
  if (resting) void wake()?.terminate()
  resting = { thread, timer }
}

/** The thread that rests, which then does so no longer. */
function wake(): Worker | undefined {
  const thread = resting?.thread
  clearTimeout(resting?.timer)
  resting = undefined
  return thread
}

async function readFrom(thread: Worker): Promise<Whole> {
  const first = (await nextOf(thread)) as ApartRead
  if (!first.ok) return first
  const rules: unknown[] = []
  while (rules.length < first.count) {
    thread.postMessage(MORE)
    rules.push(...((await nextOf(thread)) as unknown[]))
  }
  return { ...first, rules }
}

function nextOf(thread: Worker): Promise<unknown> {
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
