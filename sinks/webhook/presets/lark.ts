import { createHmac } from 'node:crypto'
import type { Severity } from '../../../src/sink/index.ts'
import { memberOf, outcomeOfCode } from './answers.ts'
import { fullWidthMarkup, plainOfFullWidth } from './full-width.ts'
import { cutLog, partsOf } from './parts.ts'
import type { MessagePreset } from './preset.ts'

const TEMPLATES: Readonly<Record<Severity, string>> = {
  error: 'red',
  warning: 'orange',
  info: 'blue',
  resolved: 'green',
}

/** A card of a custom bot of Lark or Feishu. Literal texts are in elements without markup. */
export const lark: MessagePreset = {
  markup: fullWidthMarkup,
  concurrency: 1,
  // The limit is 20 KB.
  maxBytes: 19_000,
  // 100 a minute and 5 a second.
  ratePerMinute: 100,
  body(message, { signingSecret }, cut, nowMs) {
    const parts = partsOf(message, fullWidthMarkup)
    const fields = parts.fields.map(({ title, value }) => `${cut(title, 100)}: ${cut(value, 400)}`)
    const links = parts.links.map(({ title, url }) => ({
      tag: 'button',
      text: { tag: 'plain_text', content: cut(plainOfFullWidth(title), 60) },
      type: 'default',
      url,
    }))
    const elements = [
      parts.text && markdown(cut(parts.text, 3_000)),
      fields.length > 0 && markdown(fields.join('\n')),
      parts.quote && plain(cut(parts.quote, 2_000)),
      parts.logs && plain(cutLog(parts.logs, 4_000, cut)),
      parts.changes && plain(cut(parts.changes, 1_500)),
      parts.command && plain(cut(parts.command, 500)),
      links.length > 0 && { tag: 'action', actions: links },
      { tag: 'note', elements: [{ tag: 'plain_text', content: cut(parts.source, 300) }] },
    ].filter(Boolean)
    return {
      ...(signingSecret && signature(signingSecret, nowMs)),
      msg_type: 'interactive',
      card: {
        config: { wide_screen_mode: true },
        header: {
          template: TEMPLATES[parts.severity],
          title: { tag: 'plain_text', content: cut(plainOfFullWidth(parts.title), 300) },
        },
        elements,
      },
    }
  },
  readsAnswers: true,
  answer(reply) {
    // One code for requests that are wrong, and for too many of them.
    const isThrottled = /too many/i.test(String(memberOf(reply.body, 'msg')))
    return outcomeOfCode(reply, {
      field: 'code',
      throttled: { codes: [11232, 99991400, ...(isThrottled ? [9499] : [])], afterMs: 60_000 },
      config: [19001, 19021, 19022, 19024],
      rejected: [9499, 19002, 19036],
    })
  },
}

function markdown(content: string) {
  return { tag: 'div', text: { tag: 'lark_md', content } }
}

function plain(content: string) {
  return { tag: 'div', text: { tag: 'plain_text', content } }
}

/** Valid for an hour: it is made for each attempt. The key is time and secret; the text that is signed is empty. */
function signature(secret: string, nowMs: number) {
  const timestamp = String(Math.floor(nowMs / 1_000))
  const sign = createHmac('sha256', `${timestamp}\n${secret}`).digest('base64')
  return { timestamp, sign }
}
