import type { Health } from '../../src/sink/index.ts'
import { channelName, isChannelId, spelled } from './channel.ts'
import type { Answer, SlackApi } from './client.ts'
import type { SlackConfig } from './config.ts'

const PAGES = 5
const PAGE = 1_000

/** Asks Slack whether the token works, may post, and reaches the channels that the configuration names. */
export async function checkSlack(api: SlackApi, config: SlackConfig, signal: AbortSignal): Promise<Health> {
  const about = { channel: 'the workspace', threaded: false }
  const called = await api.call('auth.test', {}, about, signal)
  if (!called.ok) {
    const { verdict } = called
    if (verdict.kind === 'operator') return { ok: false, reason: verdict.reason, detail: verdict.detail }
    if (verdict.kind === 'retry')
      return { ok: false, reason: verdict.outcome.reason, detail: verdict.outcome.detail }
    return { ok: false, reason: 'unknown', detail: 'auth.test failed' }
  }
  const scopes = scopesOf(called.answer)
  if (!scopes) return { ok: true, warnings: ['Slack did not tell the scopes of the token: not checked'] }
  if (!scopes.has('chat:write'))
    return {
      ok: false,
      reason: 'auth',
      detail:
        'the token lacks the scope chat:write: add it to the app (OAuth & Permissions) and reinstall it',
    }
  const found = await findChannels(api, config, scopes, signal)
  const wanted = constantChannels(config)
  const problems = wanted.needed.map((it) => found(it)).filter((it) => it !== undefined)
  if (problems.length > 0) return { ok: false, reason: 'config', detail: problems.join('; ') }
  const warnings = [
    ...wanted.listed.map((it) => found(it)).filter((it) => it !== undefined),
    ...(scopes.has('chat:write.public')
      ? []
      : ['without the scope chat:write.public the app must be a member (/invite) of every channel']),
    ...(scopes.has('channels:read')
      ? []
      : ['without the scope channels:read it is not checked whether the channels exist']),
  ]
  return warnings.length > 0 ? { ok: true, warnings } : { ok: true }
}

function scopesOf({ response_metadata: more }: Answer): Set<string> | undefined {
  const scopes = (more as { scopes?: unknown } | undefined)?.scopes
  return Array.isArray(scopes) ? new Set(scopes.map(String)) : undefined
}

/** Those that everything goes to, and those that a template may choose. */
function constantChannels({ channel, fallbackChannel, allowChannels }: SlackConfig) {
  const constant = channel?.constant ? channelName(channel.source) : undefined
  const needed = [constant, fallbackChannel].filter((it) => it !== undefined)
  return { needed, listed: allowChannels.filter((it) => !it.includes('*') && !needed.includes(it)) }
}

interface Channel {
  id?: string
  name?: string
  is_archived?: boolean
  is_member?: boolean
  is_private?: boolean
}

/** Gives what is wrong with a channel; undefined when nothing is, or nothing is known. */
async function findChannels(
  api: SlackApi,
  config: SlackConfig,
  scopes: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<(channel: string) => string | undefined> {
  if (!scopes.has('channels:read')) return () => undefined
  const { needed, listed } = constantChannels(config)
  const all = [...needed, ...listed]
  const known = new Map<string, Channel | 'missing'>()
  for (const id of all.filter(isChannelId)) {
    const about = { channel: id, threaded: false }
    const called = await api.call('conversations.info', { channel: id }, about, signal)
    if (called.ok) known.set(id, called.answer['channel'] as Channel)
    else if (called.verdict.kind === 'operator' && called.verdict.code === 'channel_not_found')
      known.set(id, 'missing')
  }
  const names = all.filter((it) => !isChannelId(it))
  const complete = names.length === 0 || (await listChannels(api, names, scopes, known, signal))
  return (channel) => {
    const it = known.get(channel) ?? (complete && !isChannelId(channel) ? 'missing' : undefined)
    const name = spelled(channel)
    if (it === undefined) return undefined
    if (it === 'missing')
      return scopes.has('groups:read')
        ? `there is no ${name}, or it is private and the app is not in it: correct the name, or /invite the app there`
        : `there is no public ${name}: correct the name; if it is private, /invite the app there and add the scope groups:read`
    if (it.is_archived) return `${name} is archived: unarchive it, or choose another channel`
    if (it.is_member === false && (it.is_private || !scopes.has('chat:write.public')))
      return `the app is not in ${name}: /invite it there, or give it chat:write.public`
    return undefined
  }
}

/** Looks the names up, page by page; true when all pages were seen. */
async function listChannels(
  api: SlackApi,
  names: readonly string[],
  scopes: ReadonlySet<string>,
  known: Map<string, Channel | 'missing'>,
  signal: AbortSignal,
): Promise<boolean> {
  const types = scopes.has('groups:read') ? 'public_channel,private_channel' : 'public_channel'
  let cursor = ''
  for (let page = 0; page < PAGES; page++) {
    const args = { types, limit: PAGE, ...(cursor && { cursor }) }
    const called = await api.call(
      'conversations.list',
      args,
      { channel: 'the channels', threaded: false },
      signal,
    )
    if (!called.ok) return false
    const { channels, response_metadata: more } = called.answer
    for (const it of (Array.isArray(channels) ? channels : []) as Channel[])
      if (it.name && names.includes(it.name)) known.set(it.name, it)
    cursor = String((more as { next_cursor?: unknown } | undefined)?.next_cursor ?? '')
    if (cursor === '' || names.every((it) => known.has(it))) return true
  }
  return false
}
