import { stripVTControlCharacters } from 'node:util'
import { printable } from '../../text/printable.ts'
import { redactSecrets } from '../../text/redact.ts'

/** Lines are cut here: a pattern takes linear time, but a line of megabytes is of no use. */
const MAX_LINE = 2_048

/**
 * Returns the end of a log as messages may show it: valid Unicode, no escape sequences, no control characters but line breaks,
 * values of secrets masked; at most `lines` lines and `maxBytes` bytes, beginning with "…" where a line was cut.
 */
export function cleanLog(
  bytes: Buffer,
  { lines: most, maxBytes }: { lines: number; maxBytes: number },
): string {
  const text = stripVTControlCharacters(bytes.toString('utf8').toWellFormed())
  const lines = text
    .split(/\r\n|[\n\r\u0085\u2028\u2029]/)
    .map((line) => printable(line.replaceAll('\t', '  ')).trimEnd())
  while (lines.at(-1) === '') lines.pop()
  const last = redactSecrets(lines.slice(-most).map(cutLine).join('\n'))
  return endOf(last, maxBytes)
}

function cutLine(line: string): string {
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE - 1).toWellFormed()}…` : line
}

/** Of "…" and a line break. */
const ELLIPSIS_BYTES = 4

/** The last bytes of a text: whole lines if at least one fits. */
function endOf(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  let start = bytes.length - maxBytes + ELLIPSIS_BYTES
  while (((bytes[start] as number) & 0xc0) === 0x80) start++
  const end = bytes.toString('utf8', start)
  const nextLine = end.indexOf('\n')
  return nextLine === -1 || nextLine === end.length - 1 ? `…${end}` : `…\n${end.slice(nextLine + 1)}`
}
