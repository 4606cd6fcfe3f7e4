import { createHash } from 'node:crypto'
import { COLOURS, type Cut, cutLog, htmlMarkup, htmlText, partsOf, plainOfHtml, stacked } from './parts.ts'
import { type MessagePreset, withPath } from './preset.ts'

/** An event of Matrix has at most 65,536 bytes, with what the server adds. */
const MAX_BYTES = 50_000
const MAX_HTML = 20_000

/**
 * A message to a room of Matrix (client-server API v1.1 and later). The transaction id is ours: a server that knows it already stores
 * nothing twice.
 */
export const matrix: MessagePreset = {
  markup: { ...htmlMarkup, code: (text) => `<code>${htmlText(text)}</code>` },
  concurrency: 1,
  maxBytes: MAX_BYTES,
  method: 'PUT',
  target(base, { options: { room = '' }, message }) {
    const transaction = createHash('sha256')
      .update(message?.id ?? '')
      .digest('hex')
    const path = `/_matrix/client/v3/rooms/${encodeURIComponent(room)}/send/m.room.message/${transaction}`
    return withPath(base, path)
  },
  headers: ({ token = '' }) => ({ authorization: `Bearer ${token}` }),
  body(message, _options, cut) {
    const parts = partsOf(message, htmlMarkup)
    const title = cutHtml(parts.title, 500, cut)
    const fields = parts.fields.map(
      ({ title: name, value }) => `<b>${cutHtml(name, 100, cut)}</b>: ${cutHtml(value, 400, cut)}`,
    )
    const html = stacked(
      [
        `<font color="${COLOURS[parts.severity]}"><b>${title}</b></font>`,
        parts.text && `<p>${cutHtml(parts.text, 3_000, cut).replaceAll('\n', '<br>')}</p>`,
        fields.join('<br>'),
        parts.quote && pre(cut(parts.quote, 3_000)),
        parts.logs && pre(cutLog(parts.logs, 6_000, cut)),
        parts.changes && pre(cut(parts.changes, 2_000)),
        parts.command && pre(cut(parts.command, 500)),
        parts.links
          .map((it) => `<a href="${htmlText(it.url)}">${htmlText(plainOfHtml(it.title))}</a>`)
          .join(' · '),
        `<p><em>${htmlText(cut(parts.source, 300))}</em></p>`,
      ],
      MAX_HTML,
      cut,
    )
    const plain = [plainOfHtml(parts.title), plainOfHtml(parts.text), parts.quote, parts.logs, parts.source]
    return {
      msgtype: 'm.text',
      body: cut(plain.filter(Boolean).join('\n'), 4_000),
      format: 'org.matrix.custom.html',
      formatted_body: html,
      // Present and empty: whatever the text contains, it mentions nobody.
      'm.mentions': {},
    }
  },
  retryAfterMs(reply) {
    const ms = Number(/"retry_after_ms"\s*:\s*(\d+)/.exec(reply)?.[1])
    return Number.isFinite(ms) ? ms : undefined
  },
}

function cutHtml(html: string, max: number, cut: Cut): string {
  return cut(html, max) === html ? html : htmlText(cut(plainOfHtml(html), max))
}

function pre(text: string): string {
  return `<pre><code>${htmlText(text)}</code></pre>`
}
