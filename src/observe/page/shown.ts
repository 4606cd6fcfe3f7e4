import { count } from '../../text/quantities.ts'

/** Controls, and marks that turn the direction of text: as in `src/text/printable.ts`, but line feed and tab. */
const CONTROLS =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g

/** A piece of a text: as it is, or a control character, by its code (`U+202E`). */
export type Piece = { text: string } | { code: string }

/** Returns a text of others in pieces, so that what is not seen, or turns what follows, is shown by its code. At most `longest` characters. */
export function pieces(text: string, longest: number): { pieces: Piece[]; cut: number } {
  const shown = text.length > longest ? text.slice(0, longest).toWellFormed() : text
  const found: Piece[] = []
  let from = 0
  for (const match of shown.matchAll(CONTROLS)) {
    if (match.index > from) found.push({ text: shown.slice(from, match.index) })
    const code = match[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')
    found.push({ code: `U+${code}` })
    from = match.index + 1
  }
  if (from < shown.length) found.push({ text: shown.slice(from) })
  return { pieces: found, cut: text.length - shown.length }
}

/** The same in one line, for titles and attributes. */
export function inOneLine(text: string, longest = 120): string {
  const { pieces: parts, cut } = pieces(text.replace(/[\n\t]/g, ' '), longest)
  return parts.map((it) => ('text' in it ? it.text : `‹${it.code}›`)).join('') + (cut > 0 ? '…' : '')
}

/** `3.4 MiB`. */
export function bytes(value: number): string {
  let [size, unit] = [value, 'B']
  for (const next of ['KiB', 'MiB', 'GiB', 'TiB']) {
    if (size < 1024) break
    size /= 1024
    unit = next
  }
  return `${unit === 'B' || size >= 100 ? Math.round(size) : size.toFixed(1)} ${unit}`
}

/** `12.5/s`, `<0.1/s`. */
export function rate(perSecond: number): string {
  if (perSecond > 0 && perSecond < 0.1) return '<0.1/s'
  return `${perSecond >= 100 ? count(Math.round(perSecond)) : perSecond.toFixed(1)}/s`
}

/** `2026-11-26 09:21:08.123 +01:00`: the time of the reader, to the millisecond. */
export function exact(atMs: number): string {
  const offset = -new Date(atMs).getTimezoneOffset()
  if (Number.isNaN(offset)) return 'unknown time'
  const local = new Date(atMs + offset * 60_000).toISOString().replace('T', ' ').slice(0, -1)
  const two = (value: number) => String(Math.floor(Math.abs(value))).padStart(2, '0')
  return `${local} ${offset === 0 ? 'UTC' : `${offset < 0 ? '-' : '+'}${two(offset / 60)}:${two(offset % 60)}`}`
}

/** `09:21:08`: of today's events. */
export function clock(atMs: number): string {
  return exact(atMs).slice(11, 19)
}

/** The end of something that began at a time: `14:05`, `14:05:10` within two minutes, `2026-11-27 02:00` on another day. */
export function endTime(endMs: number, fromMs: number): string {
  const end = exact(endMs)
  if (end.slice(0, 10) !== exact(fromMs).slice(0, 10)) return end.slice(0, 16)
  return end.slice(11, endMs - fromMs < 120_000 ? 19 : 16)
}

/** A link of others, where it leads to the web; undefined for `javascript:` and the like. */
export function webLink(text: string): string | undefined {
  return /^https?:\/\/[^\s\u0000-\u001f]+$/i.test(text) && URL.canParse(text) ? text : undefined
}
