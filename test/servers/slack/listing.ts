import type { Posted } from './workspace.ts'

/** A message as lines of text, for people to compare. */
export function listingOf({
  text,
  attachments,
  threadTs,
}: Pick<Posted, 'text' | 'attachments' | 'threadTs'>): string {
  const lines = [`${threadTs === undefined ? 'text' : 'reply'}      ${text}`]
  for (const { color, fallback, blocks } of attachments) {
    lines.push(`color     ${color}`, `fallback  ${fallback}`)
    for (const block of blocks) lines.push(...linesOf(block).map((it) => `  ${it}`))
  }
  return `${lines.join('\n')}\n`
}

function linesOf(block: any): string[] {
  const indented = (text: string, mark: string) =>
    text.split('\n').map((it, i) => (i === 0 ? mark : ' '.repeat(mark.length)) + it)
  switch (block.type) {
    case 'section':
      return [
        ...(block.text ? indented(block.text.text, 'section   ') : []),
        ...(block.fields ?? []).flatMap((it: any) => [`field     ${it.text.split('\n').join(' | ')}`]),
      ]
    case 'context':
      return block.elements.flatMap((it: any) => indented(it.text, 'context   '))
    case 'rich_text':
      return block.elements.flatMap((it: any) => {
        const runs = it.elements.map((run: any) =>
          run.style?.code ? `\`${run.text}\`` : run.style?.bold ? `*${run.text}*` : run.text,
        )
        return indented(runs.join(''), it.type === 'rich_text_preformatted' ? 'code      ' : 'rich      ')
      })
    default:
      return [JSON.stringify(block)]
  }
}
