import { createHash, randomBytes } from 'node:crypto'
import type { KeyValueStore, Message, Severity } from '../../src/sink/index.ts'
import type { SlackRoute } from './config.ts'

/** The message that a group of changes hangs on. */
export interface Thread {
  channelId: string
  ts: string
  severity: Severity
  /** Of what the message shows: whoever has another is not the last to have changed it. */
  rev: string
  /** How many changes came after the first. */
  changes: number
  /** When the first was, and what it said, in mrkdwn. */
  sinceMs: number
  title: string
  /** When the message was written last. */
  writtenMs: number
}

/** The threads of a sink, in the store that all processes share. */
export interface Threads {
  find(key: string): Promise<Thread | undefined>
  save(key: string, thread: Thread): Promise<void>
  forget(key: string): Promise<void>
  /** The right to open a thread, for a short time; undefined when another has it. */
  lock(key: string): Promise<{ release(): Promise<void> } | undefined>
}

/** The store does not answer: nothing is known of threads. */
export class StoreFault extends Error {
  override name = 'StoreFault'
}

export function createThreads(store: KeyValueStore, ttlMs: number, lockMs: number): Threads {
  return {
    async find(key) {
      return parsed(await asked(store.get(key)))
    },
    save: (key, thread) => asked(store.set(key, JSON.stringify(thread), { ttlMs })),
    async forget(key) {
      await asked(store.delete(key))
    },
    async lock(key) {
      const name = `lock:${key}`
      const owner = newRev()
      if (!(await asked(store.add(name, owner, { ttlMs: lockMs })))) return undefined
      return {
        async release() {
          // It ends by itself.
          await store.delete(name, owner).catch(() => {})
        },
      }
    },
  }
}

/** `thread:<channel>:<hash>` */
export function threadKey(channel: string, group: string): string {
  return `thread:${channel}:${createHash('sha256').update(group).digest('hex').slice(0, 32)}`
}

/** What belongs together: by the rule's or the sink's groupBy, else all digests of a group, or all that concerns one object. */
export function groupOf(message: Message<SlackRoute>, groupBy: SlackRoute['groupBy']): string {
  const said = (message.route?.groupBy ?? groupBy)?.render(message).trim()
  if (said) return `by:${said}`
  const { notice } = message
  if (notice?.kind === 'digest')
    return `digest:${[message.event.cluster, message.rule, JSON.stringify(notice.by)].join('/')}`
  const { kind, namespace = '', name } = message.words.about
  return [message.event.cluster, kind, namespace, name].join('/')
}

/** Nothing more is to come: the trouble ended, or the object is gone. That an Event expires says nothing. */
export function isOver(message: Message): boolean {
  const { event, content, notice } = message
  if (notice) return notice.kind === 'resolved' || content.severity === 'resolved'
  return content.severity === 'resolved' || (event.type === 'DELETED' && event.event === undefined)
}

const RANK: Record<Severity, number> = { resolved: 0, info: 1, warning: 2, error: 3 }

export function isWorse(severity: Severity, than: Severity): boolean {
  return RANK[severity] > RANK[than]
}

export function newRev(): string {
  return randomBytes(8).toString('hex')
}

function parsed(text: string | undefined): Thread | undefined {
  if (text === undefined) return undefined
  try {
    const thread = JSON.parse(text) as Partial<Thread>
    return typeof thread.channelId === 'string' && typeof thread.ts === 'string'
      ? (thread as Thread)
      : undefined
  } catch {
    return undefined
  }
}

async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw new StoreFault('the store of threads (Redis) does not answer', { cause: error })
  }
}
