import { retryAfterIn, targetFault } from './answers.ts'
import { COLOURS, type Cut, cutLog, discordMarkup, fence, partsOf, stacked } from './parts.ts'
import type { MessagePreset } from './preset.ts'

const MAX_TITLE = 256
const MAX_DESCRIPTION = 4_096
const MAX_FIELDS = 25
const MAX_FIELD_NAME = 256
const MAX_FIELD_VALUE = 1_024
const MAX_FOOTER = 2_048
/** Maximum length of all embeds of one message together. */
const MAX_ALL = 6_000

/** An embed of a Discord webhook. It mentions nobody, whatever the texts contain. */
export const discord: MessagePreset = {
  markup: discordMarkup,
  concurrency: 2,
  maxBytes: 256_000,
  // Without it Discord answers before the message is saved, and reports no failure of that.
  target(base) {
    const url = new URL(base)
    if (!url.searchParams.has('wait')) url.searchParams.set('wait', 'true')
    return url
  },
  body(message, { username, iconUrl }, cut) {
    const parts = partsOf(message, discordMarkup)
    const title = cut(parts.title, MAX_TITLE)
    const footer = cut(parts.source, MAX_FOOTER / 4)
    let left = MAX_ALL - title.length - footer.length
    const fields = []
    for (const { title: name, value } of parts.fields.slice(0, MAX_FIELDS)) {
      const field = {
        name: cut(name, MAX_FIELD_NAME),
        value: cut(value, MAX_FIELD_VALUE),
        inline: value.length <= 40,
      }
      // Keeps half of the room for the description.
      if (left - field.name.length - field.value.length < MAX_ALL / 2) break
      left -= field.name.length + field.value.length
      fields.push(field)
    }
    const [link] = parts.links
    const description = describe(parts, Math.min(left, MAX_DESCRIPTION), cut)
    return {
      ...(username && { username }),
      ...(iconUrl && { avatar_url: iconUrl }),
      embeds: [
        {
          title,
          ...(description && { description }),
          ...(link && takesAsUrl(link.url) && { url: link.url }),
          color: Number.parseInt(COLOURS[parts.severity].slice(1), 16),
          fields,
          footer: { text: footer },
        },
      ],
      allowed_mentions: { parse: [] },
    }
  },
  answer: (reply) => targetFault(reply, TARGET_FAULT),
  retryAfterMs: (reply) => retryAfterIn(reply, 'retry_after'),
}

/** A forum, which takes a message with the thread_id of a post in the query of the address; a name or picture that is not permitted. */
const TARGET_FAULT = /"code"\s*:\s*22000[1-4]\b|"(?:username|avatar_url)"\s*:\s*\{/

/** Discord refuses an embed whose address has a host without a dot, such as that of a Service. */
function takesAsUrl(url: string): boolean {
  return /[^.]\.[^.]/.test(URL.parse(url)?.hostname ?? '')
}

function describe(parts: ReturnType<typeof partsOf>, max: number, cut: Cut): string {
  const blocks = [
    parts.text && cut(parts.text, 1_200),
    parts.quote && fence(cut(parts.quote, 800)),
    parts.logs && fence(cutLog(parts.logs, 1_500, cut)),
    parts.changes && fence(cut(parts.changes, 600)),
    parts.command && fence(cut(parts.command, 300)),
    parts.links.map(({ title, url }) => `[${title}](${url})`).join(' · '),
  ]
  return stacked(blocks, max, cut)
}
