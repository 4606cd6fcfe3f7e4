import { createHmac } from 'node:crypto'
import { outcomeOfCode } from './answers.ts'
import { fullWidthMarkup, fullWidthText, plainOfFullWidth } from './full-width.ts'
import { cutLog, partsOf, stacked } from './parts.ts'
import type { MessagePreset } from './preset.ts'

/** A message of a custom robot of DingTalk, as Markdown. It mentions nobody. */
export const dingtalk: MessagePreset = {
  markup: fullWidthMarkup,
  concurrency: 1,
  // The limit is 20,000 bytes.
  maxBytes: 19_000,
  // A robot that sends more than 20 in a minute is silenced for 10 minutes.
  ratePerMinute: 20,
  target(base, { options: { signingSecret }, nowMs }) {
    if (!signingSecret) return base
    const url = new URL(base)
    const sign = createHmac('sha256', signingSecret).update(`${nowMs}\n${signingSecret}`).digest('base64')
    url.searchParams.set('timestamp', String(nowMs))
    url.searchParams.set('sign', sign)
    return url
  },
  body(message, _options, cut) {
    const parts = partsOf(message, fullWidthMarkup)
    const fields = parts.fields.map(({ title, value }) => `- ${cut(title, 100)}: ${cut(value, 300)}`)
    const text = stacked(
      [
        `#### ${cut(parts.title, 400)}\n`,
        parts.text && `${cut(parts.text, 2_000).replaceAll('\n', '\n\n')}\n`,
        fields.length > 0 && `${fields.join('\n')}\n`,
        parts.quote && quoted(cut(parts.quote, 1_500)),
        parts.logs && quoted(cutLog(parts.logs, 3_000, cut)),
        parts.changes && quoted(cut(parts.changes, 1_000)),
        parts.command && quoted(cut(parts.command, 400)),
        parts.links.length > 0 && `${parts.links.map((it) => `[${it.title}](${it.url})`).join(' · ')}\n`,
        fullWidthText(cut(parts.source, 300)),
      ].map((it) => it || ''),
      15_000,
      cut,
    )
    return {
      msgtype: 'markdown',
      // The title is shown in the list of chats and in notifications on phones.
      markdown: { title: cut(plainOfFullWidth(parts.title), 200), text },
      at: { isAtAll: false },
    }
  },
  readsAnswers: true,
  answer: (reply) =>
    outcomeOfCode(reply, {
      field: 'errcode',
      throttled: { codes: [130101, 130102, 410100, 90018], afterMs: 600_000 },
      config: [310000, 300001, 300005, 400013, 400101, 400102, 400106],
      rejected: [400105, 430101, 430102, 430103, 430104, 460101],
    }),
}

function quoted(text: string): string {
  return `${fullWidthText(text)
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n>\n')}\n`
}
