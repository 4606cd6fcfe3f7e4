import type { ConfigDocument } from './document.ts'

/** `watch` with more kinds, as the file writes lists; those at `idle` would be of no use any more. */
export function watchHint(
  document: ConfigDocument,
  kinds: readonly string[],
  idle: readonly number[] = [],
): string {
  const list = document.at(['watch'])
  const added = kinds.map((kind) => `"- kind: ${kind}"`).join(' and ')
  if (!list?.items) return `add ${added} under "watch"`
  const { file, items } = list
  const text = ({ start, end }: { start: number; end: number }) => file.text.slice(start, end)
  const isHere = items.every((it) => it.file === file && it.start >= list.start && it.end <= list.end)
  const kept = items.filter((_, index) => !idle.includes(index)).map(text)
  const written = `watch: [${[...kept, ...kinds].join(', ')}]`
  const isFlow = isHere && file.text[list.start] === '[' && !/[\n#]/.test(written)
  if (isFlow && written.length <= MOST_SHOWN) return `write ${written}`
  const words = idle.map((index) => items[index]?.value)
  const isPlain = isHere && words.length > 0 && words.every((it) => typeof it === 'string')
  return isPlain
    ? `write ${added} under "watch", in place of ${words.join(' and ')}`
    : `add ${added} under "watch"`
}

const MOST_SHOWN = 160
