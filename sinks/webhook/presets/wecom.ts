import type { Severity } from '../../../src/sink/index.ts'
import { outcomeOfCode } from './answers.ts'
import { fullWidthMarkup, fullWidthText } from './full-width.ts'
import { cutLog, partsOf, stacked } from './parts.ts'
import type { MessagePreset } from './preset.ts'

const COLOURS: Readonly<Record<Severity, string>> = {
  error: 'warning',
  warning: 'warning',
  info: 'comment',
  resolved: 'info',
}

/** Links are not shortened: longer ones would leave no room for the text. */
const MAX_URL = 400

/** A message of a group robot of WeCom, as Markdown. */
export const wecom: MessagePreset = {
  markup: fullWidthMarkup,
  concurrency: 1,
  // The content may have 4,096 bytes; the body as a whole is held to it.
  maxBytes: 4_096,
  ratePerMinute: 20,
  body(message, _options, cut) {
    const parts = partsOf(message, fullWidthMarkup)
    const fields = parts.fields
      .slice(0, 8)
      .map(({ title, value }) => `> ${cut(title, 60)}: <font color="comment">${cut(value, 200)}</font>`)
    const content = stacked(
      [
        `**<font color="${COLOURS[parts.severity]}">${cut(parts.title, 300)}</font>**`,
        cut(parts.text, 800),
        fields.join('\n'),
        parts.quote && quoted(cut(parts.quote, 600)),
        parts.logs && quoted(cutLog(parts.logs, 1_000, cut)),
        parts.changes && quoted(cut(parts.changes, 400)),
        parts.command && quoted(cut(parts.command, 200)),
        parts.links
          .filter(({ url }) => url.length <= MAX_URL)
          .slice(0, 3)
          .map((it) => `[${cut(it.title, 60)}](${it.url})`)
          .join(' · '),
        `<font color="comment">${fullWidthText(cut(parts.source, 200))}</font>`,
      ],
      3_800,
      cut,
    )
    return { msgtype: 'markdown', markdown: { content } }
  },
  readsAnswers: true,
  answer: (reply) =>
    outcomeOfCode(reply, {
      field: 'errcode',
      throttled: { codes: [45009, 45033], afterMs: 60_000 },
      config: [93000, 40013, 93008, 93017],
      rejected: [40008, 40058, 44004, 45002],
    }),
}

function quoted(text: string): string {
  return fullWidthText(text)
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n')
}
