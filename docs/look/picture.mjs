// node docs/look/picture.mjs > docs/look/look.svg: the terminal of look.txt as a picture.
import { readFileSync } from 'node:fs'

const LINE_HEIGHT = 20
const MARGIN = 24
const TOP = 56
const WIDTH = 860

const COLOURS = [
  [/^\$ /, '#e6edf3'],
  [/^(🔴|🟠|🔵|✅)/u, '#e6edf3'],
  [/^ {3}\$ /, '#7ee787'],
  [/^ {3}>/, '#d2a8ff'],
  [/ → /, '#ffa657'],
]

export function picture(text) {
  const lines = text.trimEnd().split('\n')
  const height = TOP + lines.length * LINE_HEIGHT + MARGIN / 2
  const rows = lines.flatMap((line, i) => {
    if (line === '') return []
    const [, colour = '#8b949e'] = COLOURS.find(([pattern]) => pattern.test(line)) ?? []
    const weight = /^\S/.test(line) ? ' font-weight="600"' : ''
    return [
      `<text x="${MARGIN}" y="${TOP + i * LINE_HEIGHT}" fill="${colour}"${weight}>${escaped(line)}</text>`,
    ]
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="Output of the demo: a rollout, a crash loop, its end">
<rect width="${WIDTH}" height="${height}" rx="10" fill="#0d1117"/>
<circle cx="24" cy="22" r="6" fill="#ff5f57"/><circle cx="44" cy="22" r="6" fill="#febc2e"/><circle cx="64" cy="22" r="6" fill="#28c840"/>
<style>text { white-space: pre }</style>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13">
${rows.join('\n')}
</g>
</svg>
`
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

if (import.meta.url === `file://${process.argv[1]}`)
  process.stdout.write(picture(readFileSync(new URL('look.txt', import.meta.url), 'utf8')))
