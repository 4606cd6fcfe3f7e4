import { createHash } from 'node:crypto'
import type { KeyValueStore, Message } from '../../src/sink/index.ts'
import { addressesOf, type EmailConfig, type EmailRoute, type Recipients } from './config.ts'

/** A message's place in a thread. */
interface Place {
  /** Of the first message of the thread: `<…@example.com>`; undefined for the first itself, and for messages without a thread. */
  root: string | undefined
  subject: string
  /** After the delivery: continues the thread, or ends it. With the Message-ID that the server gave the mail, if it did. */
  after(serverMessageId?: string): Promise<void>
}

interface Thread {
  /** Our Message-ID of the first mail. */
  root: string
  subject: string
  /** The one that its readers see, where the server replaced ours. */
  shown?: string | undefined
}

/** The store does not answer: nothing is known of threads and earlier attempts. */
export class StoreFault extends Error {
  override name = 'StoreFault'
}

/**
 * Returns the Message-ID (RFC 5322 §3.6.4): the same for each attempt, so that receivers can drop repeats; another one for other
 * recipients, because two rules may send one event.
 */
export function messageIdOf(id: string, sink: string, recipients: Recipients, domain: string): string {
  return `<${digest([id, sink, ...addressesOf(recipients)])}@${domain}>`
}

/** The threads of a sink, in the store that all processes share. */
export function createThreads(
  store: KeyValueStore,
  config: Pick<EmailConfig, 'mode' | 'groupBy' | 'threadTtl'>,
) {
  const ttl = { ttlMs: config.threadTtl }

  /** Finds the thread of a message, or begins it: the first who stores its own id is the root. */
  async function placeOf(
    message: Message<EmailRoute>,
    own: string,
    recipients: Recipients,
    subjectOf: () => string,
  ): Promise<Place> {
    const mode = message.route?.mode ?? config.mode
    const alone: Place = { root: undefined, subject: '', after: async () => {} }
    if (mode === 'message') return { ...alone, subject: subjectOf() }
    const key = `thread:${digest([groupOf(message, config.groupBy), ...addressesOf(recipients)])}`
    const over = isOver(message)
    let thread = parsed(await asked(store.get(key)))
    if (!thread) {
      const subject = subjectOf()
      // A message that ends something does not begin a thread.
      if (over) return { ...alone, subject }
      const begun = { root: own, subject }
      thread = (await asked(store.add(key, JSON.stringify(begun), ttl)))
        ? begun
        : parsed(await asked(store.get(key)))
      thread ??= begun
    }
    const { root, subject, shown = root } = thread
    const isRoot = root === own
    return {
      root: isRoot ? undefined : shown,
      subject: isRoot ? subject : `Re: ${subject}`,
      async after(serverMessageId) {
        if (over) await store.delete(key)
        else
          await store.set(
            key,
            JSON.stringify(isRoot && serverMessageId ? { ...thread, shown: serverMessageId } : thread),
            ttl,
          )
      },
    }
  }

  return { placeOf }
}

const PARTIAL_TTL = { ttlMs: 7 * 86_400_000 }

/** Remembers who got a message of which others did not: a repeat goes to the others only. */
export function createReceipts(store: KeyValueStore) {
  const keyOf = (messageId: string) => `sent:${messageId}`
  return {
    async get(messageId: string): Promise<readonly string[]> {
      const text = await asked(store.get(keyOf(messageId)))
      return text === undefined ? [] : text.split('\n')
    },
    save: (messageId: string, addresses: readonly string[]) =>
      asked(store.set(keyOf(messageId), addresses.join('\n'), PARTIAL_TTL)),
  }
}

/** Returns the group of a message: by groupBy, else that of a digest, else the object. */
function groupOf(message: Message<EmailRoute>, groupBy: EmailRoute['groupBy']): string {
  const text = (message.route?.groupBy ?? groupBy)?.render(message).trim()
  if (text) return `by:${text}`
  const { notice } = message
  if (notice?.kind === 'digest')
    return `digest:${JSON.stringify([message.event.cluster, message.rule, notice.by])}`
  const { kind, namespace = '', name } = message.summary.about
  return JSON.stringify([message.event.cluster, kind, namespace, name])
}

/** The problem is resolved or the object deleted; the expiry of an Event ends nothing. */
function isOver({ event, content, notice }: Message): boolean {
  if (content.severity === 'resolved' || notice)
    return content.severity === 'resolved' || notice?.kind === 'resolved'
  return event.type === 'DELETED' && event.event === undefined
}

function parsed(text: string | undefined): Thread | undefined {
  if (text === undefined) return undefined
  try {
    const thread = JSON.parse(text) as Partial<Thread>
    return typeof thread.root === 'string' && typeof thread.subject === 'string'
      ? (thread as Thread)
      : undefined
  } catch {
    return undefined
  }
}

function digest(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 40)
}

async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw new StoreFault('the store of threads (Redis) does not answer', { cause: error })
  }
}
