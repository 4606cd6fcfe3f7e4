import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger, Message, Outcome } from '../../src/sink/index.ts'
import type { Item, Unit } from './deliver.ts'
import { formatMessage, type ThreadContext, titleOf } from './format.ts'
import type { ActionsBlock } from './markup.ts'
import type { Poster, Sent } from './post.ts'
import type { Bucket, RateSlots } from './rate-limit.ts'
import { isWorse, newRev, type RootMessages, type Thread, type Threads } from './thread-store.ts'

/** Sends a unit as message, thread or update. */
export interface ThreadDelivery {
  deliver(channel: string, unit: Unit, slots: RateSlots): Promise<Outcome>
  /** Updates the threads of a digest's members soon, and closes those that are over. */
  noteDigest(channel: string, members: readonly Item[]): Promise<void>
}

interface ThreadDeliveryParts {
  poster: Poster
  threads: Threads
  rootMessages: RootMessages
  bucketOf(channel: string): Bucket
  /** The limit of updates. */
  updates: Bucket
  log: Logger
  now(): number
  /** The buttons of a message that is not a reply. */
  buttonsOf(message: Message): ActionsBlock | undefined
  /** Minimum time between two updates of one message. */
  everyMs: number
}

const MAX_TITLE = 200
const POLL_MS = [30, 60, 120, 200]
const LOCKED_MS = 1_000
const MOST_THREADS_OF_A_DIGEST = 200

export function createThreadDelivery(parts: ThreadDeliveryParts): ThreadDelivery {
  const { poster, threads, rootMessages, log, now } = parts

  async function deliver(channel: string, unit: Unit, slots: RateSlots): Promise<Outcome> {
    const item = unit.at(-1) as Item
    if (item.key === undefined) return single(channel, item, slots)
    const thread = await threads.find(item.key)
    if (thread) return continueThread(channel, unit, item.key, thread, slots)
    // A resolve notification without a thread does not begin one.
    return item.over ? single(channel, item, slots) : open(channel, unit, item.key, slots)
  }

  async function single(channel: string, item: Item, slots: RateSlots, paid = false): Promise<Outcome> {
    const buttons = parts.buttonsOf(item.message)
    const rendered = formatMessage(item.message, { mention: mentionOf(item), over: item.over, buttons })
    const waitMs = paid ? 0 : await slots.slot(parts.bucketOf(channel))
    if (waitMs > 0) return later(waitMs)
    return outcomeOf(await poster.post(channel, rendered, slots.signal))
  }

  function continueThread(
    channel: string,
    unit: Unit,
    key: string,
    thread: Thread,
    slots: RateSlots,
  ): Promise<Outcome> {
    const item = unit.at(-1) as Item
    return item.mode === 'update'
      ? update(channel, unit, key, thread, slots)
      : reply(channel, item, key, thread, slots)
  }

  async function open(
    channel: string,
    unit: Unit,
    key: string,
    slots: RateSlots,
    paid = false,
  ): Promise<Outcome> {
    const item = unit.at(-1) as Item
    const buttons = parts.buttonsOf(item.message)
    const rendered = formatMessage(item.message, { mention: mentionOf(item), buttons })
    const waitMs = paid ? 0 : await slots.slot(parts.bucketOf(channel))
    if (waitMs > 0) return later(waitMs)
    const lock = await threads.lock(key)
    if (!lock) return waitForThread(channel, unit, key, slots)
    try {
      const opened = await threads.find(key)
      if (opened) return await continueThread(channel, unit, key, opened, slots)
      const sent = await poster.post(channel, rendered, slots.signal)
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

  /** Another worker is opening the thread: wait briefly for it. */
  async function waitForThread(channel: string, unit: Unit, key: string, slots: RateSlots): Promise<Outcome> {
    for (const ms of POLL_MS) {
      if (slots.leftMs() < ms) break
      await sleep(ms, undefined, { signal: slots.signal })
      const opened = await threads.find(key)
      if (opened) return continueThread(channel, unit, key, opened, slots)
    }
    return later(LOCKED_MS)
  }

  async function reply(
    channel: string,
    item: Item,
    key: string,
    thread: Thread,
    slots: RateSlots,
  ): Promise<Outcome> {
    const { message, over } = item
    const { severity } = message.content
    const mention = isWorse(severity, thread.severity) ? mentionOf(item) : []
    // A change of an object that ends the thread is a message of its own.
    const closing = over && message.notice?.kind === 'resolved' ? 'reply' : undefined
    const rendered = formatMessage(message, { mention, over, closing })
    const waitMs = await slots.slot(parts.bucketOf(channel))
    if (waitMs > 0) return later(waitMs)
    const sent = await poster.post(channel, rendered, slots.signal, thread.ts)
    if (sent.kind === 'gone') return startOver(channel, [item], key, slots, sent.code)
    if (sent.kind !== 'sent') return sent.outcome
    await showOnRoot(channel, item, key, thread, 1, (it) => rootMessages.now(it, slots.signal))
    return outcomeOf(sent)
  }

  /** Only the newest state is shown; that is the delivery of all of them. */
  async function update(
    channel: string,
    unit: Unit,
    key: string,
    thread: Thread,
    slots: RateSlots,
  ): Promise<Outcome> {
    const item = unit.at(-1) as Item
    const next = nextOf(thread, item, unit.length)
    const buttons = parts.buttonsOf(item.message)
    const rendered = formatMessage(item.message, { ...threadContext(next), over: item.over, buttons })
    const tooSoonMs = thread.writtenMs + parts.everyMs - now()
    // More than that is left only when the clock was set back.
    if (tooSoonMs > 0 && tooSoonMs <= parts.everyMs) return later(tooSoonMs)
    const waitMs = await slots.slot(parts.updates)
    if (waitMs > 0) return later(waitMs)
    const sent = await poster.update(channel, thread, rendered, slots.signal)
    if (sent.kind === 'gone') return startOver(channel, unit, key, slots, sent.code)
    if (sent.kind === 'sent') await (item.over ? drop(key) : keep(key, { ...next, writtenMs: now() }))
    else if (sent.outcome.kind === 'retry' && sent.outcome.reason === 'rate-limited')
      parts.updates.pause(sent.outcome.afterMs ?? 1_000)
    return outcomeOf(sent)
  }

  async function startOver(
    channel: string,
    unit: Unit,
    key: string,
    slots: RateSlots,
    code: string,
  ): Promise<Outcome> {
    log.debug({ channel, code }, 'a thread is gone; a new one begins')
    await threads.forget(key)
    const item = unit.at(-1) as Item
    parts.bucketOf(channel).owe()
    return item.over ? single(channel, item, slots, true) : open(channel, unit, key, slots, true)
  }

  /** Stores the thread and updates its first message; `finish` writes the last state. */
  async function showOnRoot(
    channel: string,
    item: Item,
    key: string,
    thread: Thread,
    changes: number,
    finish: RootMessages['schedule'] | ((update: Parameters<RootMessages['schedule']>[0]) => Promise<void>),
  ): Promise<void> {
    const next = nextOf(thread, item, changes)
    const closing = item.over ? 'root' : undefined
    const buttons = parts.buttonsOf(item.message)
    const context: ThreadContext = { ...threadContext(next), over: item.over, closing, buttons }
    const rendered = formatMessage(item.message, context)
    const root = { key, channel, thread: next, rendered, final: item.over }
    if (item.over) {
      await drop(key)
      await finish(root)
    } else {
      await keep(key, next)
      rootMessages.schedule(root)
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
          if (thread) await showOnRoot(channel, item, key, thread, count, (it) => rootMessages.schedule(it))
        } catch (error) {
          log.debug({ error }, 'a thread was not updated after a digest')
        }
      }),
    )
  }

  /** The message is sent already: if the store fails, the next change begins a new thread. */
  async function keep(key: string, thread: Thread): Promise<void> {
    await threads.save(key, thread).catch((error) => log.warn({ error }, 'a thread could not be remembered'))
  }

  async function drop(key: string): Promise<void> {
    await threads.forget(key).catch((error) => log.warn({ error }, 'a thread could not be forgotten'))
  }

  return { deliver, noteDigest }
}

function nextOf(thread: Thread, { message }: Item, changes: number): Thread {
  return { ...thread, severity: message.content.severity, rev: newRev(), changes: thread.changes + changes }
}

function threadContext({ title, sinceMs, changes }: Thread): ThreadContext {
  return { began: { title, sinceMs, changes } }
}

/** A resolve notification mentions nobody. */
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
