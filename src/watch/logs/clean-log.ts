import { printable } from '../../text/printable.ts'
import { redactSecrets } from '../../text/redact.ts'

/** Lines are cut here: a pattern takes linear time, but a line of megabytes is of no use. */
const MAX_LINE = 2_048

/**
 * Escape sequences of terminals (ECMA-48): with parameters, as texts up to their end, and of a few characters. What begins one ends
 * the search for another one's end, so it takes linear time; util.stripVTControlCharacters takes minutes for beginnings alone.
 */
const ESCAPES =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[PX\]^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u0080-\u009f\n]*(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]*[0-~]/g

/**
 * Returns the end of a log as messages may show it: valid Unicode, no escape sequences, no control characters but line breaks,
 * values of secrets masked; at most `lines` lines and `maxBytes` bytes, beginning with "…" where a line was cut.
 */
export function cleanLog(
  bytes: Buffer,
  { lines: most, maxBytes }: { lines: number; maxBytes: number },
): string {
  const text = bytes.toString('utf8').toWellFormed().replace(ESCAPES, '')
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

/** Size of "…" and a line break. */
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
