import { Worker } from 'node:worker_threads'
import type { CheckedValue } from '../config/checked-value.ts'
import type { Problem } from '../config/problem.ts'
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
  | { ok: false; problem: string; shown: string }
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

/** Reads and checks a configuration in a thread of its own, which is gone afterwards with all its memory. Throws when it cannot. */
export async function readApart(request: ApartRequest, limits: ApartLimits = {}): Promise<Whole> {
  const { timeoutMs = TIMEOUT_MS, heapMb = HEAP_MB, entry = ENTRY } = limits
  const resourceLimits = { maxOldGenerationSizeMb: heapMb }
  const worker = new Worker(entry, { workerData: request, execArgv: [], resourceLimits })
  worker.unref()
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => {})
  worker.once('error', (error) => ended.reject(faultOf(error, heapMb)))
  worker.once('exit', () => ended.reject(new Error('the thread that read the configuration ended too early')))
  const timer = setTimeout(
    () => ended.reject(new Error(`the configuration could not be read within ${timeoutMs / 1_000} seconds`)),
    timeoutMs,
  )
  try {
    return await Promise.race([readFrom(worker), ended.promise])
  } finally {
    clearTimeout(timer)
    await worker.terminate()
  }
}

async function readFrom(worker: Worker): Promise<Whole> {
  const first = (await nextOf(worker)) as ApartRead
  if (!first.ok) return first
  const rules: unknown[] = []
  while (rules.length < first.count) {
    worker.postMessage('more')
    rules.push(...((await nextOf(worker)) as unknown[]))
  }
  return { ...first, rules }
}

function nextOf(worker: Worker): Promise<unknown> {
  return new Promise((resolve) => worker.once('message', resolve))
}

function faultOf(error: unknown, heapMb: number): Error {
  const { code, message } = error as NodeJS.ErrnoException
  return new Error(
    code === 'ERR_WORKER_OUT_OF_MEMORY'
      ? `the configuration needs more than ${heapMb} MB of memory to be read`
      : `the configuration could not be read: ${message}`,
  )
}
