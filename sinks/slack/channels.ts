import * as z from 'zod'

export const CHANNEL_RULE = 'must be a channel such as "#shop" or its id such as C0123456789'

/** An entry of `allowChannels` or of `actions.channels`. */
export const AllowedChannel = z.string().transform((text, context) => {
  const channel = allowedChannel(text)
  if (channel === undefined)
    context.addIssue({ code: 'custom', message: `${CHANNEL_RULE}, or a glob such as "#team-*"` })
  return channel ?? z.NEVER
})

const ID = /^[CGD][A-Z0-9]{7,20}$/
const NAME = /^[\p{L}\p{N}_.-]{1,80}$/u

/** A name without `#` in lower case, or an id; undefined when it can be neither. */
export function channelName(text: string): string | undefined {
  const trimmed = text.trim()
  if (ID.test(trimmed)) return trimmed
  const name = trimmed.replace(/^#/, '').toLowerCase()
  return NAME.test(name) ? name : undefined
}

/** As it is shown, and as Slack takes it: `#shop`, `C0123456789`. */
export function spelled(channel: string): string {
  return ID.test(channel) ? channel : `#${channel}`
}

export function isChannelId(channel: string): boolean {
  return ID.test(channel)
}

/** Matches literally or by a glob: `*` is one or more characters, so `team-*` does not match `team-`. */
export function isAllowed(channel: string, list: readonly string[]): boolean {
  return list.some((entry) => (entry.includes('*') ? globMatches(entry, channel) : entry === channel))
}

function globMatches(glob: string, text: string): boolean {
  const parts = glob.split('*')
  const first = parts[0] as string
  const last = parts.at(-1) as string
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  let from = first.length
  const end = text.length - last.length
  for (const part of parts.slice(1, -1)) {
    const at = text.indexOf(part, from + 1)
    if (at < 0 || at + part.length > end) return false
    from = at + part.length
  }
  return from < end
}

/** Parses an entry of the list: a name, an id or a glob of names. Returns undefined if it is invalid. */
export function allowedChannel(text: string): string | undefined {
  if (!text.includes('*')) return channelName(text)
  const glob = text.trim().replace(/^#/, '').toLowerCase()
  return /^[\p{L}\p{N}_.*-]{1,80}$/u.test(glob) ? glob.replace(/\*+/g, '*') : undefined
}
