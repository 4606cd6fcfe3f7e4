import { signal } from '@preact/signals'
import { withQuery } from '../links.ts'
import { RequestError, request } from './request.ts'
import { createRing } from './ring.ts'
import { type SseMessage, sseReader } from './sse.ts'

/** How many records are kept for the list. */
const KEPT = 5_000
/** More in one frame cost the time in which the page answers: of these the newest are shown, and the others are counted. */
const MOST_PER_FRAME = 1_000
const RECONNECT_MS = 1_000
const MOST_RECONNECT_MS = 15_000
/** The server sends something every 15 s. A connection whose other end is gone stays open, and silent. */
const SILENT_MS = 45_000

export interface LiveState {
  /** `refused`: no further attempt would succeed. */
  phase: 'connecting' | 'open' | 'broken' | 'refused'
  error?: RequestError
  /** Records that came, and those of them that were not shown because there were too many at a time. */
  received: number
  skipped: number
  /** Records that the server left out: the reader was too slow, or the position is not kept any more. */
  missed: number
}

type Message = SseMessage & { data: string }

/** A line of the list: a record, or a gap between records. */
export type LiveLine<R> = { key: number; record: R } | { key: number; gap: string }

/** Reads the stream of records while it is open, in batches of one frame. `version` changes with each batch. */
export function openLive<R>(query: Record<string, string | undefined>) {
  const lines = createRing<LiveLine<R>>(KEPT)
  const state = signal<LiveState>({ phase: 'connecting', received: 0, skipped: 0, missed: 0 })
  const version = signal(0)
  let isClosed = false
  let reading = new AbortController()
  let waiting: Message[] = []
  let [key, frame, skipped, missed, lastId] = [0, 0, 0, 0, undefined as string | undefined]

  function take(messages: SseMessage[]): void {
    for (const { event, id, data } of messages) {
      if (id !== undefined) lastId = id
      if (data !== undefined) waiting.push({ event, id, data })
    }
    if (waiting.length === 0) return
    // A page in the background has no frames.
    if (waiting.length > KEPT) leaveOut(KEPT)
    if (!frame) frame = requestAnimationFrame(show)
  }

  /** Keeps the newest messages. Counts the others, and returns the gaps among them. */
  function leaveOut(most: number): Message[] {
    const older = waiting.slice(0, -most)
    waiting = waiting.slice(-most)
    const gaps = older.filter(({ event }) => event === 'gap')
    skipped += older.length - gaps.length
    for (const gap of gaps) missed += missedIn(gap)
    return gaps
  }

  function show(): void {
    frame = 0
    for (const { data } of leaveOut(MOST_PER_FRAME)) lines.push({ key: key++, gap: data })
    let received = skipped
    for (const message of waiting) {
      const { event, data } = message
      if (event === 'gap') {
        missed += missedIn(message)
        lines.push({ key: key++, gap: data })
      } else if (event === 'record') {
        const record = parsed(data)
        if (record === undefined) continue
        received++
        lines.push({ key: key++, record: record as R })
      }
    }
    const before = state.peek()
    // The stream may have ended since: its last records are no sign that it is open.
    state.value = {
      ...before,
      received: before.received + received,
      skipped: before.skipped + skipped,
      missed: before.missed + missed,
    }
    waiting = []
    skipped = 0
    missed = 0
    version.value++
  }

  async function read(): Promise<void> {
    const own = new AbortController()
    reading = own
    const abortLater = () => setTimeout(() => own.abort(), SILENT_MS)
    let timer = abortLater()
    try {
      const headers = {
        accept: 'text/event-stream',
        ...(lastId !== undefined && { 'last-event-id': lastId }),
      }
      const { body } = await request(withQuery('/stream', query), { headers, signal: own.signal })
      const { error: _, ...rest } = state.peek()
      state.value = { ...rest, phase: 'open' }
      if (!body) return
      const messagesOf = sseReader()
      const reader = body.pipeThrough(new TextDecoderStream()).getReader()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        clearTimeout(timer)
        timer = abortLater()
        take(messagesOf(value))
      }
    } finally {
      clearTimeout(timer)
    }
  }

  async function follow(): Promise<void> {
    for (let failures = 0; !isClosed; ) {
      const beganMs = Date.now()
      const error = await read().catch((error) =>
        error instanceof RequestError ? error : new RequestError(0, 'the connection ended', String(error)),
      )
      if (isClosed) return
      failures = Date.now() - beganMs > MOST_RECONNECT_MS ? 1 : failures + 1
      const isRefused = error && [400, 401, 403, 404].includes(error.status)
      state.value = { ...state.peek(), phase: isRefused ? 'refused' : 'broken', ...(error && { error }) }
      if (isRefused) return
      const pauseMs = Math.min(MOST_RECONNECT_MS, RECONNECT_MS * 2 ** (failures - 1))
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  void follow()
  return {
    lines,
    state,
    version,
    close() {
      isClosed = true
      reading.abort()
      cancelAnimationFrame(frame)
    },
  }
}

function missedIn({ data }: Message): number {
  return Number((parsed(data) as { skipped?: number } | undefined)?.skipped ?? 0)
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
