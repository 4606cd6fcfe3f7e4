import type { Routed, Template } from '../../src/sink/index.ts'

/** What decides where a message goes. */
export interface ChannelOptions {
  channel?: Template | undefined
  allowChannels: readonly string[]
  fallbackChannel?: string | undefined
}

/** A channel by the name or id that Slack takes, or why there is none. */
export type Target = { ok: true; channel: string } | { ok: false; detail: string }

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

/**
 * Where a message goes. What a template makes of an object must be on the list: whoever may label a pod must not choose
 * who reads of it. Throws a TemplateFault.
 */
export function targetOf(
  subject: Routed<{ channel?: Template | undefined }>,
  options: ChannelOptions,
): Target {
  const template = subject.route?.channel ?? options.channel
  if (!template) return { ok: false, detail: 'neither the sink nor the rule says which channel: set channel' }
  const text = template.render(subject)
  const channel = channelName(text)
  if (template.constant && channel !== undefined) return { ok: true, channel }
  if (channel !== undefined && isAllowed(channel, options.allowChannels)) return { ok: true, channel }
  if (options.fallbackChannel !== undefined) return { ok: true, channel: options.fallbackChannel }
  return { ok: false, detail: denied(text, channel, template, options.allowChannels) }
}

function denied(
  text: string,
  channel: string | undefined,
  template: Template,
  list: readonly string[],
): string {
  const shown = JSON.stringify(text.slice(0, 100))
  if (channel === undefined) return `channel ${template.source} gave ${shown}, which can be no channel's name`
  if (list.length === 0)
    return `channel ${template.source} gave ${shown}, but the sink has no allowChannels: list there what templates may choose`
  return `channel ${template.source} gave ${shown}, which is not in allowChannels (${list.map(spelled).join(', ')})`
}

/** In the list as it is, or by a glob: `*` stands for one or more characters, so that `team-*` is not `team-`. */
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

/** An entry of the list: a name, an id, or a glob of names; undefined when it can be none. */
export function allowedChannel(text: string): string | undefined {
  if (!text.includes('*')) return channelName(text)
  const glob = text.trim().replace(/^#/, '').toLowerCase()
  return /^[\p{L}\p{N}_.*-]{1,80}$/u.test(glob) ? glob.replace(/\*+/g, '*') : undefined
}
