import type { Readable } from 'node:stream'
import type { ContainerLog, LogSettings } from '../../model/delivery.ts'
import { printable } from '../../text/printable.ts'
import { redactMessage } from '../../text/redact.ts'
import { faultOfStream } from '../client/api-fault.ts'
import type { ClusterClient } from '../client/cluster-client.ts'
import { cleanLog } from './clean-log.ts'
import type { LogTarget } from './log-target.ts'
import { LogTurns } from './log-turns.ts'

interface LogReaderParts {
  client: ClusterClient
  /** Requests per second, at most. */
  rate: number
  onRead(outcome: LogOutcome): void
}

/** From the begin of a read to its end, the wait for its turn included. */
const READ_MS = 4_000

/** Reads logs of containers at a steady pace: one request every `1 / rate` seconds, without bursts; namespaces take turns. */
export class LogReader {
  readonly #parts: LogReaderParts
  readonly #closing = new AbortController()
  readonly #turns: LogTurns

  constructor(parts: LogReaderParts) {
    this.#parts = parts
    this.#turns = new LogTurns(parts.rate)
  }

  /** Returns the log, or why it could not be had, within about 4 s; undefined if the reader was closed meanwhile. */
  async read(target: LogTarget, settings: LogSettings): Promise<LogRead | undefined> {
    const { client, rate, onRead } = this.#parts
    const { signal: closing } = this.#closing
    const deadline = new AbortController()
    const timer = setTimeout(() => deadline.abort(), READ_MS)
    const signal = AbortSignal.any([closing, deadline.signal])
    try {
      const done = await readLog(
        { client, rate, turn: () => this.#turns.take(target.namespace, signal) },
        target,
        settings,
        signal,
      )
      onRead(done.outcome)
      return done
    } catch (error) {
      if (closing.aborted) return undefined
      const { container, previous } = target
      const isLate = deadline.signal.aborted
      const outcome = isLate ? 'timeout' : 'failed'
      onRead(outcome)
      const reason = isLate ? `no answer within ${READ_MS / 1_000} s` : (error as Error).message
      return { outcome, log: { ...(container !== undefined && { container }), previous, error: reason } }
    } finally {
      clearTimeout(timer)
    }
  }

  /** Aborts all reads. */
  close(): void {
    this.#closing.abort()
  }
}

/** The results of reads: a metric label. */
const LOG_OUTCOMES = ['read', 'gone', 'not-started', 'forbidden', 'timeout', 'rate', 'failed'] as const
export type LogOutcome = (typeof LOG_OUTCOMES)[number]

interface LogRead {
  outcome: LogOutcome
  log: ContainerLog
}

interface ReadParts {
  client: ClusterClient
  /** Waits until one more request may be sent; false if that would take too long. */
  turn(): Promise<boolean>
  /** Requests per second, for the message. */
  rate: number
}

/**
 * Limit that the kubelet gets. It counts from the first of the lines, so that a smaller limit would cut off the last ones: 200 lines of
 * 16 KiB, at which runtimes divide a line, are less.
 */
const REQUEST_BYTES = 4 * 1024 * 1024
/** Size of the end of an answer that is kept: more than the result. */
const KEPT_BYTES = 256 * 1024
/** Time limit of one request until its headers come. */
const HEADERS_MS = 4_000

/**
 * Reads the end of a container's log. Where the event leaves the container or the run open, and the API server answers that there is
 * no such log, it is asked once more for the pod's first container or for the current run. Every failure is a result, except that of
 * `signal`, which is thrown. https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#get-read-log-of-the-specified-pod
 */
async function readLog(
  { client, turn, rate }: ReadParts,
  target: LogTarget,
  settings: LogSettings,
  signal: AbortSignal,
): Promise<LogRead> {
  let { container, previous } = target
  const failed = (outcome: LogOutcome, error: string): LogRead => ({
    outcome,
    log: { ...(container !== undefined && { container }), previous, error },
  })
  if (target.deleted) return failed('gone', 'the pod was deleted')
  let mayChooseContainer = container === undefined
  let mayChooseRun = target.anyRun
  for (;;) {
    if (!(await turn()))
      return failed('rate', `more than ${rate} ${rate === 1 ? 'request' : 'requests'} a second`)
    const answer = await request(client, { ...target, container, previous }, settings, signal)
    if ('bytes' in answer) {
      const text = cleanLog(answer.bytes, settings)
      // The kubelet answers 200 with this text when the container's runtime has no such file (any more).
      if (/^unable to retrieve container logs for /.test(text))
        return failed('gone', 'the log is no longer on the node')
      return {
        outcome: 'read',
        log: { ...(container !== undefined && { container }), previous, text },
      }
    }
    const { code, message } = answer
    const [first] = /choose one of: \[([^\][]*)\]/.exec(message)?.[1]?.split(' ') ?? []
    if (code === 400 && mayChooseContainer && first) {
      mayChooseContainer = false
      container = first
    } else if (code === 400 && mayChooseRun && previous && /previous terminated container/.test(message)) {
      mayChooseRun = false
      previous = false
    } else return failed(...reasonOf(code, message))
  }
}

type Answer = { bytes: Buffer } | { code: number; message: string }

async function request(
  client: ClusterClient,
  { namespace, pod, container, previous }: Pick<LogTarget, 'namespace' | 'pod' | 'container' | 'previous'>,
  { lines }: LogSettings,
  signal: AbortSignal,
): Promise<Answer> {
  const query = new URLSearchParams({ tailLines: String(lines), limitBytes: String(REQUEST_BYTES) })
  if (container !== undefined) query.set('container', container)
  if (previous) query.set('previous', 'true')
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/log?${query}`
  const options = { accept: '*/*', headersTimeoutMs: HEADERS_MS, verb: 'get' } as const
  try {
    const answer = await client.stream(path, options, signal)
    if (answer.status === 200) return { bytes: await endOf(answer.body) }
    const { status } = await faultOfStream(answer)
    return { code: answer.status, message: status.message }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    return { code: 0, message: (error as Error).message }
  }
}

/** Returns the last bytes of a stream. A server that ignores `limitBytes` is not read for longer than others. */
async function endOf(body: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let [read, kept] = [0, 0]
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    read += chunk.length
    kept += chunk.length
    for (let [first] = chunks; first && kept - first.length >= KEPT_BYTES; [first] = chunks) {
      chunks.shift()
      kept -= first.length
    }
    // Leaving the loop destroys the stream.
    if (read >= REQUEST_BYTES) break
  }
  const end = Buffer.concat(chunks).subarray(-KEPT_BYTES)
  return read > end.length ? Buffer.concat([Buffer.from('…'), end.subarray(startOfCharacter(end))]) : end
}

/** Where the first whole character of UTF-8 begins. */
function startOfCharacter(bytes: Buffer): number {
  const start = bytes.subarray(0, 4).findIndex((byte) => (byte & 0xc0) !== 0x80)
  return Math.max(0, start)
}

function reasonOf(code: number, message: string): [LogOutcome, string] {
  if (code === 403) return ['forbidden', 'kubeherald may not get pods/log']
  if (code === 404) return ['gone', 'the pod no longer exists']
  if (code === 400 && /previous terminated container/.test(message))
    return ['not-started', 'the container was not restarted']
  if (code === 400 && /waiting to start|not (?:yet )?started|is not available/.test(message))
    return ['not-started', 'the container has not started']
  if (code === 400) return ['failed', short(message)]
  if (code === 0) return ['failed', `the API server did not answer: ${short(message)}`]
  return ['failed', `the API server answered ${code}${message && `: ${short(message)}`}`]
}

function short(message: string): string {
  return printable(redactMessage(message)).replace(/\s+/g, ' ').slice(0, 200).toWellFormed()
}
