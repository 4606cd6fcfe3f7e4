import { parsedTexts, refusalOf, refusedMetadata } from './limits.ts'
import { type Meaning, meaningOf } from './parse.ts'

export interface Channel {
  id: string
  name: string
  private: boolean
  member: boolean
  archived: boolean
}

/** A message as it stands in a channel. */
export interface Posted extends Meaning {
  channel: string
  channelId: string
  ts: string
  threadTs?: string
  text: string
  attachments: any[]
  metadata?: any
  /** How often it was updated. */
  updates: number
  atMs: number
}

/** What Slack answers, without `ok`. */
export type Answered =
  | { error: string; [more: string]: unknown }
  | { error?: undefined; [more: string]: unknown }

export interface Workspace {
  readonly messages: Posted[]
  readonly channels: Channel[]
  channel(name: string, parts?: Partial<Channel>): Channel
  find(nameOrId: string): Channel | undefined
  post(args: Record<string, any>, scopes: ReadonlySet<string>): Answered
  update(args: Record<string, any>): Answered
  put(channel: Channel, args: Record<string, any>): Answered
}

export function createWorkspace(): Workspace {
  const messages: Posted[] = []
  const channels: Channel[] = []
  let serial = 0

  const find = (nameOrId: string) =>
    channels.find((it) => it.id === nameOrId || it.name === nameOrId.replace(/^#/, ''))

  function put(channel: Channel, args: Record<string, any>): Answered {
    const { text = '', blocks, attachments, metadata, thread_ts: threadTs } = args
    const refusal = refusalOf(text, blocks, attachments) ?? refusedMetadata(metadata)
    if (refusal) return { error: refusal.error, response_metadata: { messages: refusal.messages ?? [] } }
    if (threadTs !== undefined) {
      const root = messages.find((it) => it.channelId === channel.id && it.ts === threadTs)
      if (!root) return { error: 'thread_not_found' }
      if (root.threadTs !== undefined) return { error: 'cannot_reply_to_message' }
    }
    const ts = `17600000${String(++serial).padStart(2, '0')}.${String(serial).padStart(6, '0')}`
    const meaning = meaningOf(parsedTexts(text, blocks ?? [], attachments ?? []))
    messages.push({
      channel: channel.name,
      channelId: channel.id,
      ts,
      ...(threadTs !== undefined && { threadTs }),
      text,
      attachments: attachments ?? [],
      ...(metadata !== undefined && { metadata }),
      updates: 0,
      atMs: performance.now(),
      ...meaning,
    })
    return { channel: channel.id, ts, message: { text, ts } }
  }

  return {
    messages,
    channels,
    find,
    put,
    channel(name, parts = {}) {
      const id = `C${String(channels.length + 1).padStart(9, '0')}A`
      const channel = { id, name, private: false, member: true, archived: false, ...parts }
      channels.push(channel)
      return channel
    },
    post(args, scopes) {
      const channel = find(String(args['channel'] ?? ''))
      if (!channel || (channel.private && !channel.member)) return { error: 'channel_not_found' }
      if (channel.archived) return { error: 'is_archived' }
      if (!channel.member && !scopes.has('chat:write.public')) return { error: 'not_in_channel' }
      return put(channel, args)
    },
    update(args) {
      const channel = channels.find((it) => it.id === args['channel'])
      if (!channel) return { error: 'channel_not_found' }
      if (channel.archived) return { error: 'is_inactive' }
      const message = messages.find((it) => it.channelId === channel.id && it.ts === args['ts'])
      if (!message) return { error: 'message_not_found' }
      const text = args['text'] ?? message.text
      // What is left out stays.
      const attachments = args['attachments'] ?? message.attachments
      const metadata = args['metadata'] ?? message.metadata
      const refusal = refusalOf(text, args['blocks'], attachments) ?? refusedMetadata(metadata)
      if (refusal) return { error: refusal.error, response_metadata: { messages: refusal.messages ?? [] } }
      // An update pings nobody anew.
      const { links, channels: named } = meaningOf(parsedTexts(text, args['blocks'] ?? [], attachments))
      Object.assign(message, {
        text,
        attachments,
        metadata,
        links,
        channels: named,
        updates: message.updates + 1,
      })
      return { channel: channel.id, ts: message.ts, text }
    },
  }
}
