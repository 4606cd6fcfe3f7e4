// node docs/look/messages.mjs: draws slack.svg and teams.svg, messages as the two lay them out, from the golden files of their tests.
import { readFileSync, writeFileSync } from 'node:fs'

const WIDTH = 760
const FONT = 'system-ui, -apple-system, &quot;Segoe UI&quot;, Roboto, sans-serif'
const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace'
const SEVERITY_STYLES = { attention: '#f9d9d9', warning: '#fbe8c6', accent: '#d9e7f9', good: '#d8f0dd' }

const golden = (name) => readFileSync(new URL(`../../test/golden/${name}`, import.meta.url), 'utf8')

/** Draws a message in a channel of Slack, from a listing such as test/golden/slack/crash-loop.txt. */
function slackPicture(listing) {
  const drawing = createDrawing()
  const parts = listing.split('\n').map((line) => /^ *(\w+) {2,}(.*)$/.exec(line)?.slice(1) ?? [])
  const firstOf = (name) => parts.find(([key]) => key === name)?.[1] ?? ''
  drawing.rect(24, drawing.y, 32, 32, '#3f51b5', 6)
  drawing.text(68, drawing.y + 12, 'kubeherald', { weight: 700 })
  drawing.text(164, drawing.y + 12, 'APP  10:14', { colour: '#616061', size: 11 })
  drawing.text(68, drawing.y + 34, plain(firstOf('text')), { weight: 700 })
  drawing.y += 48
  const top = drawing.y
  const fields = parts.filter(([key]) => key === 'field').map(([, text]) => plain(text).split(' | '))
  for (const [key, text = ''] of parts) {
    if (key === 'section') drawing.line(84, plain(text))
    if (key === 'field' && fields.length > 0) drawing.columns(84, fields.splice(0, 2))
    if (key === 'code') drawing.box(84, plain(text))
    if (key === 'rich') drawing.line(84, plain(text), { mono: true, colour: '#c0392b' })
    if (key === 'context')
      drawing.line(84, plain(text).split(' · ').slice(0, 2).join(' · '), { colour: '#616061', size: 12 })
  }
  drawing.rect(68, top, 4, drawing.y - top, firstOf('color'), 2)
  drawing.y += 24
  return drawing.svg('A message of kubeherald in Slack')
}

/** Draws an Adaptive Card as Teams shows it, from the body of test/golden/webhook/teams.json. */
function teamsPicture(body) {
  const drawing = createDrawing()
  for (const part of body) {
    if (part.type === 'Container') {
      drawing.rect(24, drawing.y - 8, WIDTH - 48, 40, SEVERITY_STYLES[part.style], 4)
      drawing.text(40, drawing.y + 17, part.items[0].text, { weight: 700, size: 16 })
      drawing.y += 46
    } else if (part.type === 'FactSet')
      for (const { title, value } of part.facts) {
        drawing.text(40, drawing.y + 14, title, { weight: 700 })
        drawing.line(140, value)
      }
    else if (part.type === 'RichTextBlock')
      drawing.line(40, part.inlines.map(({ text }) => text).join(''), { mono: true, size: 12 })
    else drawing.line(40, part.text, part.isSubtle ? { colour: '#616161', size: 12 } : {})
  }
  drawing.y += 10
  return drawing.svg('A card of kubeherald in Teams')
}

function createDrawing() {
  const shapes = []
  const drawing = {
    y: 28,
    rect: (x, y, width, height, fill, radius) =>
      shapes.push(
        `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="${radius}" fill="${fill}"/>`,
      ),
    text(x, y, text, { weight = 400, size = 14, colour = '#1d1c1d', mono = false } = {}) {
      const family = mono ? ` font-family="${MONO}"` : ''
      shapes.push(
        `<text x="${x}" y="${y}" font-size="${size}" font-weight="${weight}" fill="${colour}"${family}>${escaped(text)}</text>`,
      )
    },
    line(x, text, style) {
      drawing.text(x, drawing.y + 14, text, style)
      drawing.y += 24
    },
    columns(x, fields) {
      for (const [column, [title, value]] of fields.entries()) {
        drawing.text(x + column * 300, drawing.y + 14, title, { weight: 700 })
        drawing.text(x + column * 300, drawing.y + 33, value)
      }
      drawing.y += 46
    },
    box(x, text) {
      drawing.rect(x, drawing.y, WIDTH - x - 24, 30, '#f4f4f4', 4)
      drawing.text(x + 10, drawing.y + 20, text, { mono: true, size: 12 })
      drawing.y += 38
    },
    svg: (
      label,
    ) => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${drawing.y}" width="${WIDTH}" height="${drawing.y}" role="img" aria-label="${label}">
<rect x="0.5" y="0.5" width="${WIDTH - 1}" height="${drawing.y - 1}" rx="8" fill="#ffffff" stroke="#dddddd"/>
<style>text { white-space: pre }</style>
<g font-family="${FONT}">
${shapes.join('\n')}
</g>
</svg>
`,
  }
  return drawing
}

/** The text of Slack's markup, as it is shown. */
function plain(text) {
  return text
    .replaceAll(/<!(\w+)>/g, '@$1')
    .replaceAll(/<@\w+>/g, '@anna')
    .replaceAll(/<[^|>]+\|([^>]+)>/g, '$1')
    .replaceAll(/[*`]/g, '')
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** The pictures of this folder, by the names of their files. */
export const pictures = () => ({
  'slack.svg': slackPicture(golden('slack/crash-loop-called.txt')),
  'teams.svg': teamsPicture(JSON.parse(golden('webhook/teams.json')).crash.attachments[0].content.body),
})

if (import.meta.url === `file://${process.argv[1]}`)
  for (const [name, svg] of Object.entries(pictures())) writeFileSync(new URL(name, import.meta.url), svg)
