import { type Markup, type Outcome, outcomeOfStatus, type Reply } from '../../../src/sink/index.ts'
import { memberOf, retryAfterIn, targetFault } from './answers.ts'
import { type Cut, cutLog, htmlText, partsOf, plainOfHtml, stacked } from './parts.ts'
import { type MessagePreset, withoutSlashes } from './preset.ts'

/** Maximum length of the text. Telegram does not count markup; here it is counted. */
const MAX_TEXT = 4_096

/** Plain text in Telegram's HTML, whose server makes entities of plain text, too: no mention, hashtag, command or link. */
function telegramText(text: string): string {
  return htmlText(
    text.replace(/[@#$]|(?<![\w/])\/(?=\w)|(?<=[\p{L}\p{N}_-])\.(?=\p{L})|:(?=\/\/)/gu, '$&\u200b'),
  )
}

/** Undoes what keeps plain text from becoming an entity. */
function unmarked(text: string): string {
  return text.replace(/([@#$/.:])\u200b/g, '$1')
}

function plainText(html: string): string {
  return unmarked(plainOfHtml(html))
}

/** Markup of a rule in which no entity is searched: code and addresses, which are copied and opened. */
const EXACT = /<(?:code|pre)[^<>]*>[^<]*|<a [^<>]*>/g

/** No entity is found in code. */
const MARKUP: Markup = {
  escape: telegramText,
  code: (text) => `<code>${htmlText(text)}</code>`,
  plain: plainText,
}

/** The method sendMessage of Telegram's Bot API, as HTML. */
export const telegram: MessagePreset = {
  markup: MARKUP,
  concurrency: 1,
  maxBytes: 64_000,
  // A bot may send 20 messages a minute to a group.
  ratePerMinute: 20,
  url: () => new URL('https://api.telegram.org'),
  target(base, { options: { token = '' } }) {
    const url = new URL(base)
    url.pathname = `${withoutSlashes(url.pathname)}/bot${token}/sendMessage`
    return url
  },
  body(message, { chatId, topicId }, cut) {
    const parts = partsOf(message, MARKUP)
    const fields = parts.fields
      .slice(0, 8)
      .map(({ title, value }) => `${cutHtml(title, 100, cut)}: ${cutHtml(value, 300, cut)}`)
    const links = parts.links.map(
      ({ title, url }) => `<a href="${htmlText(url)}">${telegramText(plainText(title))}</a>`,
    )
    const title = `<b>${cutHtml(parts.title, 400, cut)}</b>`
    const source = `<i>${htmlText(cut(parts.source, 150))}</i>`
    const text = stacked(
      [
        title,
        parts.text && cutHtml(parts.text, 1_000, cut),
        fields.join('\n'),
        parts.quote && pre(cut(parts.quote, 800)),
        parts.logs && pre(cutLog(parts.logs, 1_500, cut)),
        parts.changes && pre(cut(parts.changes, 500)),
        parts.command && pre(cut(parts.command, 300)),
        links.join(' · '),
      ],
      MAX_TEXT - source.length - 1,
      cut,
    )
    return {
      chat_id: chatId,
      ...(topicId !== undefined && { message_thread_id: topicId }),
      text: `${text}\n${source}`,
      parse_mode: 'HTML',
      link_preview_options: { is_disabled: true },
    }
  },
  readsAnswers: true,
  answer: outcomeOfAnswer,
  retryAfterMs: (reply) => retryAfterIn(reply, 'retry_after'),
}

/** A tag that is cut would make Telegram refuse the message: a text that is too long loses its tags. */
function cutHtml(marked: string, max: number, cut: Cut): string {
  const html = marked.replace(EXACT, unmarked)
  return cut(html, max) === html ? html : telegramText(cut(plainText(html), max))
}

function pre(text: string): string {
  return `<pre>${htmlText(text)}</pre>`
}

/**
 * The operator must act: the chat is gone, was renumbered, or the bot may not write there. What is not lower case is a code of Telegram's
 * servers, which the Bot API passes on as 400: https://core.telegram.org/method/messages.sendMessage#possible-errors
 */
const CHAT_FAULT =
  /[cC]hat not found|upgraded to a supergroup|thread not found|[nN]ot enough rights|no (?:rights to send|write access)|need administrator rights|(?:is|was) deactivated|chat_id is empty|\b(?:CHAT|CHANNEL|PEER|TOPIC|USER_BANNED)_[A-Z_]+/

function outcomeOfAnswer(reply: Reply): Outcome | undefined {
  const { status, body } = reply
  const fault = targetFault(reply, CHAT_FAULT)
  if (fault) return fault
  if (status >= 300 || status === 0 || memberOf(body, 'ok') === true) return undefined
  const code = memberOf(body, 'error_code')
  if (typeof code === 'number' && code >= 300) return outcomeOfStatus(code, undefined, body, 0)
  const detail = `the answer is none of Telegram: ${body.slice(0, 200)}`
  return { kind: 'retry', reason: 'server-error', detail, scope: 'sink', ambiguous: true }
}
