import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger, Outcome } from '../../src/sink/index.ts'
import type { Bucket } from './bucket.ts'
import { formatMessage, type Surroundings, titleOf } from './format.ts'
import type { Poster, Sent } from './post.ts'
import type { Roots } from './roots.ts'
import { isWorse, newRev, type Thread, type Threads } from './thread.ts'
import type { Turn } from './turn.ts'
import type { Item, Unit } from './units.ts'

/** Sends what belongs together, as messages, threads or updates. */
export interface Telling {
  tell(channel: string, unit: Unit, turn: Turn): Promise<Outcome>
  /** The threads of those that a digest told: their first messages show the newest state soon; what is over is closed. */
  noteDigest(channel: string, members: readonly Item[]): Promise<void>
}

export interface TellingParts {
  poster: Poster
  threads: Threads
  roots: Roots
  bucketOf(channel: string): Bucket
  /** The limit of updates. */
  updates: Bucket
  log: Logger
  now(): number
  /** At most one update of a message in so long. */
  everyMs: number
}

const MAX_TITLE = 200
const LOOK_AGAIN_MS = [30, 60, 120, 200]
const LOCKED_MS = 1_000
const MOST_THREADS_OF_A_DIGEST = 200

export function createTelling(parts: TellingParts): Telling {
  const { poster, threads, roots, log, now } = parts

  async function tell(channel: string, unit: Unit, turn: Turn): Promise<Outcome> {
    const item = unit.at(-1) as Item
    if (item.key === undefined) return alone(channel, item, turn)
    const thread = await threads.find(item.key)
    if (thread) return goOn(channel, unit, item.key, thread, turn)
    // What ends nothing that is known begins nothing either.
    return item.over ? alone(channel, item, turn) : open(channel, unit, item.key, turn)
  }

  async function alone(channel: string, item: Item, turn: Turn, paid = false): Promise<Outcome> {
    const rendered = formatMessage(item.message, { mention: mentionOf(item), over: item.over })
    const waitMs = paid ? 0 : await turn.slot(parts.bucketOf(channel))
    if (waitMs > 0) return later(waitMs)
    return outcomeOf(await poster.post(channel, rendered, turn.signal))
  }

  function goOn(channel: string, unit: Unit, key: string, thread: Thread, turn: Turn): Promise<Outcome> {
    const item = unit.at(-1) as Item
    return item.mode === 'update'
      ? update(channel, unit, key, thread, turn)
      : reply(channel, item, key, thread, turn)
  }

  async function open(channel: string, unit: Unit, key: string, turn: Turn, paid = false): Promise<Outcome> {
    const item = unit.at(-1) as Item
    const rendered = formatMessage(item.message, { mention: mentionOf(item) })
    const waitMs = paid ? 0 : await turn.slot(parts.bucketOf(channel))
    if (waitMs > 0) return later(waitMs)
    const lock = await threads.lock(key)
    if (!lock) return afterAnother(channel, unit, key, turn)
    try {
      const opened = await threads.find(key)
      if (opened) return await goOn(channel, unit, key, opened, turn)
      const sent = await poster.post(channel, rendered, turn.signal)
      if (sent.kind === 'sent' && sent.ts) {
        const { message } = item
        await keep(key, {
          channelId: sent.channelId,
          ts: sent.ts,
          severity: message.content.severity,
          rev: newRev(),
          changes: unit.length - 1,
          sinceMs: Date.parse(message.event.time) || now(),
          title: titleOf(message.content, MAX_TITLE),
          writtenMs: now(),
        })
      }
      return outcomeOf(sent)
    } finally {
      await lock.release()
    }
  }

  /** Another worker is opening the thread: wait a little for what it hangs on. */
  async function afterAnother(channel: string, unit: Unit, key: string, turn: Turn): Promise<Outcome> {
    for (const ms of LOOK_AGAIN_MS) {
      if (turn.leftMs() < ms) break
      await sleep(ms, undefined, { signal: turn.signal })
      const opened = await threads.find(key)
      if (opened) return goOn(channel, unit, key, opened, turn)
    }
    return later(LOCKED_MS)
  }

  async function reply(
    channel: string,
    item: Item,
    key: string,
    thread: Thread,
    turn: Turn,
  ): Promise<Outcome> {
    const { message, over } = item
    const { severity } = message.content
    const mention = isWorse(severity, thread.severity) ? mentionOf(item) : []
    const rendered = formatMessage(message, { mention, over })
    const waitMs = await turn.slot(parts.bucketOf(channel))
    if (waitMs > 0) return later(waitMs)
    const sent = await poster.post(channel, rendered, turn.signal, thread.ts)
    if (sent.kind === 'gone') return anew(channel, [item], key, turn, sent.code)
    if (sent.kind !== 'sent') return sent.outcome
    await showOnRoot(channel, item, key, thread, 1, (it) => roots.now(it, turn.signal))
    return outcomeOf(sent)
  }

  /** Only the newest state is shown; that is the delivery of all of them. */
  async function update(
    channel: string,
    unit: Unit,
    key: string,
    thread: Thread,
    turn: Turn,
  ): Promise<Outcome> {
    const item = unit.at(-1) as Item
    const next = nextOf(thread, item, unit.length)
    const rendered = formatMessage(item.message, { ...surroundings(next), over: item.over })
    const tooSoonMs = thread.writtenMs + parts.everyMs - now()
    // A clock that was set back must not hold it for longer than that.
    if (tooSoonMs > 0) return later(Math.min(tooSoonMs, parts.everyMs))
    const waitMs = await turn.slot(parts.updates)
    if (waitMs > 0) return later(waitMs)
    const sent = await poster.update(channel, thread, rendered, turn.signal)
    if (sent.kind === 'gone') return anew(channel, unit, key, turn, sent.code)
    if (sent.kind === 'sent') await (item.over ? drop(key) : keep(key, { ...next, writtenMs: now() }))
    else if (sent.outcome.kind === 'retry' && sent.outcome.reason === 'rate-limited')
      parts.updates.pause(sent.outcome.afterMs ?? 1_000)
    return outcomeOf(sent)
  }

  async function anew(channel: string, unit: Unit, key: string, turn: Turn, code: string): Promise<Outcome> {
    log.debug({ channel, code }, 'a thread is gone; a new one begins')
    await threads.forget(key)
    const item = unit.at(-1) as Item
    parts.bucketOf(channel).owe()
    return item.over ? alone(channel, item, turn, true) : open(channel, unit, key, turn, true)
  }

  /** Stores what the thread is now, and has its first message show it; what is over is shown by `atOnce`. */
  async function showOnRoot(
    channel: string,
    item: Item,
    key: string,
    thread: Thread,
    changes: number,
    atOnce: Roots['schedule'] | ((update: Parameters<Roots['schedule']>[0]) => Promise<void>),
  ): Promise<void> {
    const next = nextOf(thread, item, changes)
    const rendered = formatMessage(item.message, { ...surroundings(next), over: item.over })
    const root = { key, channel, thread: next, rendered, final: item.over }
    if (item.over) {
      await drop(key)
      await atOnce(root)
    } else {
      await keep(key, next)
      roots.schedule(root)
    }
  }

  async function noteDigest(channel: string, members: readonly Item[]): Promise<void> {
    const newest = new Map<string, { item: Item; count: number }>()
    for (const item of members) {
      if (item.key === undefined) continue
      newest.set(item.key, { item, count: (newest.get(item.key)?.count ?? 0) + 1 })
    }
    const some = [...newest].slice(-MOST_THREADS_OF_A_DIGEST)
    await Promise.all(
      some.map(async ([key, { item, count }]) => {
        try {
          const thread = await threads.find(key)
          if (thread) await showOnRoot(channel, item, key, thread, count, (it) => roots.schedule(it))
        } catch (error) {
          log.debug({ error }, 'a thread was not updated after a digest')
        }
      }),
    )
  }

  /** What was sent is sent: without the store, the next change begins a thread of its own. */
  async function keep(key: string, thread: Thread): Promise<void> {
    await threads.save(key, thread).catch((error) => log.warn({ error }, 'a thread could not be remembered'))
  }

  async function drop(key: string): Promise<void> {
    await threads.forget(key).catch((error) => log.warn({ error }, 'a thread could not be forgotten'))
  }

  return { tell, noteDigest }
}

function nextOf(thread: Thread, { message }: Item, changes: number): Thread {
  return { ...thread, severity: message.content.severity, rev: newRev(), changes: thread.changes + changes }
}

function surroundings({ title, sinceMs, changes }: Thread): Surroundings {
  return { began: { title, sinceMs, changes } }
}

/** Nobody is called for what is over. */
function mentionOf({ message, over }: Item): readonly string[] {
  return over || message.content.severity === 'resolved' ? [] : (message.route?.mention ?? [])
}

function outcomeOf(sent: Sent): Outcome {
  if (sent.kind === 'failed') return sent.outcome
  if (sent.kind === 'gone') return { kind: 'retry', reason: 'unknown', detail: sent.code, scope: 'event' }
  return sent.note ? { kind: 'delivered', note: sent.note } : { kind: 'delivered' }
}

function later(afterMs: number): Outcome {
  return { kind: 'later', afterMs: Math.ceil(afterMs) }
}
