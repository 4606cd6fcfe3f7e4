import type { Readable } from 'node:stream'
import { setImmediate as socketsRead } from 'node:timers/promises'
import type { Change, Source } from '../../model/change.ts'
import { ApiFault, type ApiStatus, BrokenStream, faultOfStream } from '../client/api-fault.ts'
import type { ClusterClient } from '../client/cluster-client.ts'
import { DEFAULT_MAX_OBJECT_BYTES, type Oversized } from '../decode/oversized.ts'
import { readFrame, readLongFrame } from '../decode/scan.ts'
import { createLineSplitter } from '../decode/splitters.ts'
import { collectionPath, type InitialState, type ListOptions, METADATA_WATCH } from '../list/list.ts'

/** Everything that arrived since the last one was taken. */
export interface Batch {
  changes: Change[]
  /** The position behind them: of the newest change or bookmark. */
  resourceVersion: string
  /**
   * The position from which a watch that ends here continues: all of it has come. etcd deletes the keys of an expired lease, as of
   * Events, in one transaction, so after a deletion it is the position before: others with the same one may follow.
   */
  resumeFrom: string
  /** The bookmark that ends the initial events of a WatchList was among them. */
  initialEventsEnd: boolean
  /** A bookmark was among them: the server had sent all that came before it. */
  bookmarked: boolean
  /** As much was taken as may wait here: more may be in the socket. */
  full?: boolean
  /** Nothing came for as long as `WatchRequest.idleMs` said; there is no position then. */
  idle?: true
}

export interface WatchRequest {
  client: ClusterClient
  source: Source
  query: Record<string, string>
  accept?: string
  /** How long the server may keep it open; a silent peer is given up `graceMs` after that. */
  timeoutSeconds: number
  graceMs: number
  clock: { now(): number }
  /** Called whenever bytes come. */
  onContact(): void
  /** An object with more JSON is reduced to its metadata, or skipped. Default: DEFAULT_MAX_OBJECT_BYTES. */
  maxObjectBytes?: number
  /** Bytes of whole frames beyond this stop the reading until a batch is taken. Default: 4 MiB. */
  maxWaitingBytes?: number
  /** Called for each oversized object. */
  onOversized?(oversized: Oversized): void
  /** How long to wait for more, at most, before an idle batch; undefined: as long as it takes. */
  idleMs?(): number | undefined
}

const MAX_WAITING_BYTES = 4 * 1024 * 1024
const HELD_UP = 'changes waited to be processed for longer than the watch lasts'
/** What a frame has besides its object, at most. */
const ENVELOPE_BYTES = 64

/** A stream that did not end in the time that was asked for, and `graceMs`. */
export class OverdueStream extends BrokenStream {
  override name = 'OverdueStream'
}

/**
 * One watch request. Yields batches that form by themselves while the last one is being committed, and returns at the
 * server's clean end. Throws ApiFault (also for an ERROR frame), BrokenStream, OverdueStream, or the network's error.
 */
export async function* watchStream(request: WatchRequest, signal: AbortSignal): AsyncGenerator<Batch, void> {
  const { client, source, timeoutSeconds, graceMs } = request
  const deadline = AbortSignal.timeout(timeoutSeconds * 1_000 + graceMs)
  const query = {
    watch: 'true',
    allowWatchBookmarks: 'true',
    timeoutSeconds: String(timeoutSeconds),
    ...request.query,
  }
  const either = AbortSignal.any([signal, deadline])
  const accept = request.accept === undefined ? {} : { accept: request.accept }
  const { status, headers, body } = await client.stream(collectionPath(source, query), accept, either)
  let isHeldUp = false
  const onDeadline = () => {
    isHeldUp = body.isPaused()
  }
  deadline.addEventListener('abort', onDeadline, { once: true })
  try {
    if (status !== 200) throw await faultOfStream({ status, headers, body })
    request.onContact()
    yield* readBatches(body, request)
  } catch (error) {
    const isAnswer = error instanceof ApiFault || error instanceof UnreadableFrame
    if (deadline.aborted && !signal.aborted && !isAnswer)
      throw new OverdueStream(isHeldUp ? HELD_UP : 'the server fell silent', { cause: error })
    throw error
  } finally {
    body.destroy()
  }
}

async function* readBatches(body: Readable, request: WatchRequest): AsyncGenerator<Batch, void> {
  const inbox = createInbox(request)
  let ended: { error?: unknown } | undefined
  let wakeUp = () => {}
  const end = (error?: unknown) => {
    ended ??= { error }
    wakeUp()
  }
  body.on('data', (chunk: Buffer) => {
    request.onContact()
    inbox.push(chunk)
    if (inbox.isFull()) body.pause()
    wakeUp()
  })
  body.on('end', () => end())
  body.on('error', end)
  body.on('close', () => end(new BrokenStream('the connection was closed')))
  for (;;) {
    const batch = inbox.take()
    if (batch) {
      body.resume()
      const takenMs = performance.now()
      yield batch
      // What came while this process stood still is not read yet.
      if (performance.now() - takenMs > LONG_MS) await socketsRead()
      continue
    }
    // What arrived before the fault is yielded first; the fault ends the stream.
    if (inbox.fault()) throw inbox.fault()
    if (ended) {
      if (ended.error) throw ended.error
      return
    }
    // No idle batch comes before the frame that has begun ends: bytes end this wait, or the end of the stream.
    const idleMs = inbox.hasSome() ? undefined : request.idleMs?.()
    let timer: NodeJS.Timeout | undefined
    const isIdle = await new Promise<boolean>((resolve) => {
      wakeUp = () => resolve(false)
      if (idleMs !== undefined) timer = setTimeout(resolve, idleMs, true)
    })
    clearTimeout(timer)
    // Timers come before sockets: what came while this process stood still is not read yet.
    if (isIdle) await socketsRead()
    if (isIdle && !inbox.hasSome() && !ended) yield IDLE
  }
}

/** Longer than a commit takes. */
const LONG_MS = 500

const IDLE: Batch = {
  changes: [],
  resourceVersion: '',
  resumeFrom: '',
  initialEventsEnd: false,
  bookmarked: false,
  idle: true,
}

/** Collects frames between two takings. */
function createInbox({
  clock,
  maxObjectBytes = DEFAULT_MAX_OBJECT_BYTES,
  maxWaitingBytes = MAX_WAITING_BYTES,
  onOversized,
  query,
}: WatchRequest) {
  const splitter = createLineSplitter({ maxBytes: maxObjectBytes + ENVELOPE_BYTES })
  let changes: Change[] = []
  let resourceVersion = ''
  /** The position of the last frame, also of one that was taken, and the position before it. */
  let newest = query['resourceVersion'] ?? ''
  let before = newest
  let isComplete = true
  let initialEventsEnd = false
  let bookmarked = false
  let waitingBytes = 0
  let fault: Error | undefined

  function moveTo(position: string, complete: boolean): void {
    if (position !== newest) before = newest
    newest = position
    resourceVersion = position
    // Without a position before, it is the only one to continue from.
    isComplete = complete || before === ''
  }

  function add(line: Buffer, length: number, observedAtMs: number): void {
    const isLong = length > line.length
    const frame = isLong ? readLongFrame(line, length) : readFrame(line)
    if (isLong && frame.kind === 'change') onOversized?.({ bytes: length, object: frame.object })
    switch (frame.kind) {
      case 'skipped':
        onOversized?.({ bytes: length })
        return
      case 'change':
        changes.push({ type: frame.type, object: frame.object, observedAtMs })
        moveTo(frame.object.resourceVersion, frame.type !== 'DELETED')
        return
      case 'bookmark':
        // The server may send one between deletions of one position.
        moveTo(frame.resourceVersion, isComplete || frame.resourceVersion !== newest)
        initialEventsEnd ||= frame.initialEventsEnd
        bookmarked = true
        return
      case 'error':
        fault = new ApiFault(frame.status satisfies ApiStatus)
        return
      case 'unreadable':
        fault = new UnreadableFrame(line)
    }
  }

  const isFull = () => resourceVersion !== '' && waitingBytes > maxWaitingBytes

  return {
    push(chunk: Buffer): void {
      // The position of a list is the bookmark's: what comes behind it is left to the watch that follows.
      if (fault || initialEventsEnd) return
      const observedAtMs = clock.now()
      waitingBytes += chunk.length
      splitter.push(chunk, (line, length) => {
        if (length > 0 && !fault && !initialEventsEnd) add(line, length, observedAtMs)
      })
    },
    take(): Batch | undefined {
      if (resourceVersion === '') return undefined
      const resumeFrom = isComplete ? resourceVersion : before
      const full = isFull()
      const batch = { changes, resourceVersion, resumeFrom, initialEventsEnd, bookmarked, full }
      changes = []
      resourceVersion = ''
      initialEventsEnd = false
      bookmarked = false
      waitingBytes = 0
      return batch
    },
    /** Whole frames, or the beginning of one. */
    hasSome: () => resourceVersion !== '' || splitter.pendingBytes > 0 || fault !== undefined,
    // A frame is always read to its end: until then there is nothing to take that would start the reading again.
    isFull,
    fault: () => fault,
  }
}

/** A line that is no watch frame; `line` shows whether it is the same one again. */
export class UnreadableFrame extends BrokenStream {
  override name = 'UnreadableFrame'
  readonly line: string

  constructor(line: Buffer) {
    super('a watch frame cannot be read')
    this.line = line.toString('utf8', 0, 1_000)
  }
}

/**
 * The current objects, as a stream (KEP-3157, "WatchList"): the server sends every object, then a bookmark that marks the end.
 * A stream that ends before that bookmark is worthless; the caller starts over. Servers without it answer 422 or 400.
 */
export async function* streamInitialState(
  request: Omit<WatchRequest, 'query' | 'accept'>,
  { metadataOnly }: Pick<ListOptions, 'metadataOnly'>,
  signal: AbortSignal,
): InitialState {
  const query = { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }
  const accept = metadataOnly ? { accept: METADATA_WATCH } : {}
  for await (const batch of watchStream({ ...request, ...accept, query }, signal)) {
    // A deletion may come before the bookmark: of an object that was sent just before.
    if (batch.changes.length > 0) yield batch.changes
    if (batch.initialEventsEnd) return batch.resourceVersion
  }
  throw new BrokenStream('the stream of initial events ended before it was complete')
}

/** The server refuses the request as it is; a plain list shows whether that is because of the request for initial state. */
export function isRefused(error: unknown): error is ApiFault {
  return error instanceof ApiFault && (error.status.code === 422 || error.status.code === 400)
}

/** The server knows no WatchList: it names the parameters. */
export function isUnsupported({ status }: ApiFault): boolean {
  return /sendInitialEvents|resourceVersionMatch|WatchList/i.test(status.message)
}
