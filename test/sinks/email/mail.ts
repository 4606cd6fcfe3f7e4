/** The parts of a mail. */
export interface ParsedMail {
  /** By name in lower case, unfolded, encoded words decoded. */
  headers: Readonly<Record<string, string>>
  text: string
  html: string
}

/** Reads a mail as kubeherald writes it: multipart/alternative with text and HTML. */
export function partsOf(raw: string): ParsedMail {
  const { headers, body } = split(raw.replaceAll('\r\n', '\n'))
  const boundary = /boundary="([^"]+)"/.exec(headers['content-type'] ?? '')?.[1] ?? ''
  const [, text = '', html = ''] = body.split(`--${boundary}`).map((part) => {
    const inner = split(part.replace(/^\n/, ''))
    return decoded(inner.body.replace(/\n$/, ''), inner.headers['content-transfer-encoding'] ?? '7bit')
  })
  return { headers, text, html }
}

function split(text: string): { headers: Record<string, string>; body: string } {
  const end = text.indexOf('\n\n')
  const lines = text
    .slice(0, end)
    .replace(/\n[ \t]/g, ' ')
    .split('\n')
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), words(line.slice(colon + 1).trim())]
    }),
  )
  return { headers, body: text.slice(end + 2) }
}

/** RFC 2047 */
function words(text: string): string {
  return text
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([QB])\?([^?]*)\?=/gi, (_, encoding: string, word: string) =>
      encoding.toUpperCase() === 'B'
        ? Buffer.from(word, 'base64').toString()
        : quotedPrintable(word.replaceAll('_', ' ')),
    )
}

function decoded(body: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString()
  return encoding === 'quoted-printable' ? quotedPrintable(body) : body
}

function quotedPrintable(text: string): string {
  const bytes = text
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
