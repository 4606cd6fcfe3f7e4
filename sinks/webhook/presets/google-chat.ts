import { createHash } from 'node:crypto'
import { targetFault } from './answers.ts'
import { COLOURS, cutLog, htmlMarkup, htmlText, partsOf, plainOfHtml, subjectKey } from './parts.ts'
import type { MessagePreset } from './preset.ts'

const MAX_FIELDS = 20

/**
 * A card of a Google Chat webhook. Each object has its thread, which requires
 * `messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD` in the URL.
 */
export const googleChat: MessagePreset = {
  markup: htmlMarkup,
  // One space takes one message a second.
  concurrency: 1,
  maxBytes: 32_000,
  body(message, _options, cut) {
    const parts = partsOf(message, htmlMarkup)
    const title = `<b><font color="${COLOURS[parts.severity]}">${cut(parts.title, 500)}</font></b>`
    const widgets = [
      paragraph(title),
      parts.text && paragraph(html(cut(parts.text, 3_000))),
      ...parts.fields
        .slice(0, MAX_FIELDS)
        .map((it) => labelled(cut(inert(it.title), 100), cut(it.value, 400))),
      parts.quote && labelled('Message', cut(htmlText(parts.quote), 3_000)),
      parts.logs && labelled('Log', htmlText(cutLog(parts.logs, 3_000, cut))),
      parts.changes && labelled('Changed', cut(htmlText(parts.changes), 2_000)),
      parts.command && labelled('More', cut(htmlText(parts.command), 500)),
      parts.links.length > 0 && {
        buttonList: {
          buttons: parts.links.map(({ title: text, url }) => ({
            text: cut(inert(text), 60),
            onClick: { openLink: { url } },
          })),
        },
      },
      paragraph(`<font color="#80868B">${cut(htmlText(parts.source), 300)}</font>`),
    ].filter(Boolean)
    const thread = createHash('sha256').update(subjectKey(message)).digest('hex').slice(0, 32)
    return {
      // For phones.
      fallbackText: cut(inert(parts.title), 300),
      cardsV2: [{ cardId: 'event', card: { sections: [{ widgets }] } }],
      thread: { threadKey: thread },
    }
  },
  // The key in the address is not that of a webhook.
  answer: (reply) => targetFault(reply, /API_KEY_INVALID|API key not valid/),
}

/** In fields without markup, <users/all> would still mention everybody. */
function inert(html: string): string {
  return plainOfHtml(html).replace(/[<@*_~`]/g, (it) => `${it}\u200b`)
}

function paragraph(text: string) {
  return { textParagraph: { text } }
}

function labelled(topLabel: string, escaped: string) {
  return { decoratedText: { topLabel, text: html(escaped), wrapText: true } }
}

function html(escaped: string): string {
  return escaped.replaceAll('\n', '<br>')
}
