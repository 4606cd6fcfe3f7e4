import type { Severity } from '../../../src/sink/index.ts'
import { cutLog, fitted, type Parts, partsOf, stacked } from './parts.ts'
import type { MessagePreset } from './preset.ts'

/** Maximum size of a message; a longer one would become an attachment. */
const MAX_MESSAGE_BYTES = 4_096
/** Maximum size of all links together: a link is never cut. */
const MAX_LINK_BYTES = 3_500
const MAX_ACTIONS = 3
const PRIORITIES: Readonly<Record<Severity, number>> = { error: 4, warning: 3, info: 2, resolved: 3 }
/** Names of emoji, which ntfy shows before the title. */
const TAGS: Readonly<Record<Severity, string>> = {
  error: 'red_circle',
  warning: 'orange_circle',
  info: 'large_blue_circle',
  resolved: 'white_check_mark',
}

/** A message to a topic of ntfy, as JSON. Plain text. */
export const ntfy: MessagePreset = {
  markup: {},
  concurrency: 1,
  // ntfy refuses a body that reaches twice the limit of a message.
  maxBytes: 2 * MAX_MESSAGE_BYTES - 1,
  url: () => new URL('https://ntfy.sh/'),
  headers: ({ token }) => ({ ...(token && { authorization: `Bearer ${token}` }) }),
  body(message, { topic }, cut) {
    const parts = partsOf(message)
    const [link, ...others] = within(MAX_LINK_BYTES, parts.links)
    const fields = parts.fields.map(({ title, value }) => `${cut(title, 100)}: ${cut(value, 300)}`)
    const text = stacked(
      [
        cut(parts.text, 1_000),
        fields.join('\n'),
        cut(parts.quote, 800),
        cutLog(parts.logs, 1_200, cut),
        cut(parts.changes, 600),
        cut(parts.command, 300),
        cut(parts.source, 200),
      ],
      MAX_MESSAGE_BYTES,
      cut,
    )
    return {
      topic,
      title: cut(parts.subject, 250),
      message: withinBytes(text),
      priority: PRIORITIES[parts.severity],
      tags: [TAGS[parts.severity]],
      ...(link && { click: link.url }),
      ...(others.length > 0 && {
        actions: others
          .slice(0, MAX_ACTIONS)
          .map(({ title, url }) => ({ action: 'view', label: cut(title, 60), url })),
      }),
    }
  },
}

function within(maxBytes: number, links: Parts['links']): Parts['links'] {
  let bytes = 0
  return links.filter(({ url }) => {
    bytes += Buffer.byteLength(url)
    return bytes <= maxBytes
  })
}

/** A character may have up to four bytes. */
function withinBytes(text: string): string {
  const { body } = fitted(MAX_MESSAGE_BYTES, (cut) => cut(text, MAX_MESSAGE_BYTES))
  return JSON.parse(body.toString()) as string
}
