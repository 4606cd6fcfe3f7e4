import { targetFault } from './answers.ts'
import {
  attachmentFields,
  COLOURS,
  cutLog,
  fence,
  mattermostMarkup,
  mattermostText,
  partsOf,
  plainOf,
  stacked,
} from './parts.ts'
import type { MessagePreset } from './preset.ts'

const MAX_TEXT = 16_383
const MAX_FIELDS = 12

/** An attachment of a Mattermost incoming webhook. */
export const mattermost: MessagePreset = {
  markup: mattermostMarkup,
  concurrency: 4,
  maxBytes: 64_000,
  body(message, { username, iconUrl, channel }, cut) {
    const parts = partsOf(message, mattermostMarkup)
    const fallback = cut(plainOf(parts.title), 1_000)
    const title = cut(parts.title, 1_000)
    const fields = attachmentFields(parts.fields.slice(0, MAX_FIELDS), 400, cut)
    const used = fields.reduce(
      (sum, it) => sum + it.title.length + it.value.length,
      fallback.length + title.length + 400,
    )
    const text = stacked(
      [
        cut(parts.text, 3_000),
        parts.quote && fence(cut(parts.quote, 2_000)),
        parts.logs && fence(cutLog(parts.logs, 4_000, cut)),
        parts.changes && fence(cut(parts.changes, 1_500)),
        parts.command && fence(cut(parts.command, 500)),
        parts.links.map((it) => `[${it.title}](${it.url})`).join(' · '),
      ],
      MAX_TEXT - used,
      cut,
    )
    return {
      ...(channel && { channel }),
      ...(username && { username }),
      ...(iconUrl && { icon_url: iconUrl }),
      attachments: [
        {
          fallback,
          color: COLOURS[parts.severity],
          // Without a link: versions differ in whether one with it is Markdown.
          title,
          text,
          fields,
          footer: cut(mattermostText(parts.source), 300),
        },
      ],
    }
  },
  // The webhook is deleted, or its channel is that of a user who is not there.
  answer: (reply) => targetFault(reply, /web\.incoming_webhook\.(invalid|user)\.app_error/),
}
