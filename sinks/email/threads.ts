import { createHash } from 'node:crypto'
import {
  endsThread,
  fromStore,
  type KeyValueStore,
  type Message,
  threadGroupOf,
} from '../../src/sink/index.ts'
import { addressesOf, type EmailConfig, type EmailRoute, type Recipients } from './config.ts'

/** A message's place in a thread. */
interface Place {
  /** Message-ID of the first message of the thread, `<…@example.com>`; undefined for the first itself, and for messages without a thread. */
  root: string | undefined
  subject: string
  /** After the delivery: continues the thread, or ends it. With the Message-ID that the server gave the mail, if it did. */
  after(serverMessageId?: string): Promise<void>
  /** After a refusal for good: a thread whose first message nobody has is none. */
  refused(): Promise<void>
}

interface Thread {
  /** Our Message-ID of the first mail. */
  root: string
  subject: string
  /** The one that its readers see, where the server replaced ours. */
  shown?: string | undefined
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
    const alone: Place = { root: undefined, subject: '', after: async () => {}, refused: async () => {} }
    if (mode === 'message') return { ...alone, subject: subjectOf() }
    const key = `thread:${digest([threadGroupOf(message, config.groupBy), ...addressesOf(recipients)])}`
    const over = endsThread(message)
    let thread = parsed(await fromStore(store.get(key)))
    if (!thread) {
      const subject = subjectOf()
      // A message that ends something does not begin a thread.
      if (over) return { ...alone, subject }
      const begun = { root: own, subject }
      thread = (await fromStore(store.add(key, JSON.stringify(begun), ttl)))
        ? begun
        : parsed(await fromStore(store.get(key)))
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
      async refused() {
        if (isRoot) await store.delete(key, JSON.stringify(thread))
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
      const text = await fromStore(store.get(keyOf(messageId)))
      return text === undefined ? [] : text.split('\n')
    },
    save: (messageId: string, addresses: readonly string[]) =>
      fromStore(store.set(keyOf(messageId), addresses.join('\n'), PARTIAL_TTL)),
  }
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
