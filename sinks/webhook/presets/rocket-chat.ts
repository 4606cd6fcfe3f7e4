import type { Outcome, Reply } from '../../../src/sink/index.ts'
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

/** Maximum length of a message (`Message_MaxAllowedSize`). */
const MAX_TEXT = 5_000
const MAX_FIELDS = 10

/** An attachment of an incoming webhook of Rocket.Chat. */
export const rocketChat: MessagePreset = {
  markup: mattermostMarkup,
  concurrency: 2,
  maxBytes: 64_000,
  body(message, { username, iconUrl, channel }, cut) {
    const parts = partsOf(message, mattermostMarkup)
    const [link, ...others] = parts.links
    const fields = attachmentFields(parts.fields.slice(0, MAX_FIELDS), 200, cut)
    // Shown as it is.
    const title = cut(plainOf(parts.title), 300)
    const source = cut(mattermostText(parts.source), 200)
    const used = fields.reduce(
      (sum, it) => sum + it.title.length + it.value.length,
      title.length + source.length,
    )
    const text = stacked(
      [
        cut(parts.text, 1_500),
        parts.quote && fence(cut(parts.quote, 1_000)),
        parts.logs && fence(cutLog(parts.logs, 2_000, cut)),
        parts.changes && fence(cut(parts.changes, 800)),
        parts.command && fence(cut(parts.command, 400)),
        others.map((it) => `[${it.title}](${it.url})`).join(' · '),
        source,
      ],
      MAX_TEXT - used,
      cut,
    )
    return {
      ...(channel && { channel }),
      ...(username && { alias: username }),
      ...(iconUrl && { avatar: iconUrl }),
      attachments: [
        { title, ...(link && { title_link: link.url }), color: COLOURS[parts.severity], text, fields },
      ],
    }
  },
  answer: outcomeOfAnswer,
}

/** The webhook is deleted, its script fails, or it must not write into this channel. */
const TARGET_FAULT =
  /Invalid integration id or token|invalid-channel|overriding destination channel|error-running-script/i

/** The fault of the message: its size, or a part that is none of a message. */
const MESSAGE_FAULT = /error-message-size-exceeded|Match error|Invalid href/

/** Rocket.Chat answers 400 to every fault, also of its database, and in a room that is archived or read-only. */
function outcomeOfAnswer(reply: Reply): Outcome | undefined {
  const fault = targetFault(reply, TARGET_FAULT)
  if (fault) return fault
  const { outcome, status, body } = reply
  if (status !== 400 || outcome.kind !== 'rejected' || MESSAGE_FAULT.test(body)) return undefined
  return { kind: 'retry', reason: 'server-error', detail: outcome.detail, scope: 'event' }
}
