import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { teamsPicture } from '../../docs/look/cards.ts'
import { pictures } from '../../docs/look/messages.ts'
// @ts-expect-error a script without types
import { picture } from '../../docs/look/picture.mjs'
import { slackPicture } from '../../docs/look/slack.ts'
import { formatMessage } from '../../sinks/slack/format.ts'
import { openDesk } from '../cli/cli.ts'
import { tellOf } from '../sinks/slack/bed.ts'
import { told } from '../sinks/webhook/messages.ts'
import { bodyOf, loadedPresets } from '../sinks/webhook/preset-body.ts'
import { waitFor } from '../wait-for.ts'

const ROOT = new URL('../../', import.meta.url)
const LOOK_FOLDER = new URL('docs/look/', ROOT).pathname
const LOOK = readFileSync(new URL('docs/look/look.txt', ROOT), 'utf8')

test('the picture of the README is made from its text', () => {
  expect(readFileSync(new URL('docs/look/look.svg', ROOT), 'utf8')).toBe(picture(LOOK))
})

test('the pictures of messages show what the sinks send', async () => {
  for (const [name, svg] of Object.entries(await pictures()))
    expect(svg, `${name}: run node docs/look/messages.ts`).toBe(
      readFileSync(new URL(`docs/look/${name}`, ROOT), 'utf8'),
    )
})

test('every picture of a message is on a page, with a description', () => {
  const pages = globSync('{docs,sinks}/**/*.md', { cwd: ROOT, exclude: ['**/node_modules/**'] })
  const text = pages.map((page) => readFileSync(new URL(page, ROOT), 'utf8')).join('\n')
  const shown = [...text.matchAll(/!\[([^\]]{20,})\]\([./]*(?:docs\/)?look\/([^)]+)\)/g)].map(
    ([, , file]) => file,
  )
  expect(shown).toEqual(expect.arrayContaining(globSync('{slack,teams}-*.svg', { cwd: LOOK_FOLDER })))
})

const HOSTILE = `<script>alert(1)</script> ]]> <![CDATA[ </text></svg> &lt; "' \u202egpj.exe\u0000 ${'x'.repeat(3_000)}`

test.each([
  ['Slack', inSlack],
  ['Slack, past the sink', pastTheSink],
  ['Teams', inTeams],
])('hostile text of an object is text in a picture of %s', async (_, draw) => {
  const svg = await draw(HOSTILE)
  expect(new Set(svg.match(/<[/!?]?[^\s>]+/g))).toEqual(
    new Set(['<svg', '<style', '</style', '<rect', '<text', '</text', '</svg']),
  )
  expect(svg).not.toMatch(/[\u0000-\u0008\u202a-\u202e]|\]\]>|&(?!#\d+;)/)
  expect(shownText(svg)).toContain('<script>alert(1)</script>')
  expect(
    shownText(svg)
      .match(/x{20,}/g)
      ?.join('').length,
  ).toBeGreaterThan(900)
  for (const [, x, width] of svg.matchAll(/<text x="([\d.]+)"[^>]* textLength="([\d.]+)"/g))
    expect(Number(x) + Number(width)).toBeLessThan(720)
})

test.each<[string, (payload: string) => string]>([
  ['a block', (it) => it.replace('"type":"context"', '"type":"video"')],
  ['a key of a block', (it) => it.replace('"type":"context"', '"type":"context","accessory":{}')],
  ['a mention', (it) => it.replace('@here', '<!team>')],
  ['a name', (it) => it.replace('@here', '<@U999>')],
  ['text that is struck out', (it) => it.replace('@here', '~here~')],
  ['a shortcode', (it) => it.replace('@here', ':kubernetes:')],
])('there is no picture with %s that it does not know', async (_, change) => {
  const payload = JSON.stringify(slackMessage('@here'))
  const draw = (it: string) => slackPicture('', [{ message: JSON.parse(it), postedMs: 0 }])
  expect(draw(payload)).toContain('@here')
  expect(() => draw(change(payload))).toThrow()
})

function slackMessage(text: string): unknown {
  const summary = { title: text, text, quote: text, fields: [{ title: text, value: text }] }
  const rendered = formatMessage(tellOf({ summary }))
  return { text: rendered.text, attachments: rendered.attachments }
}

function inSlack(text: string): string {
  return slackPicture(text, [{ message: slackMessage(text), postedMs: 0 }])
}

/** Control characters, which the sinks remove, reach the picture. */
function pastTheSink(text: string): string {
  const elements = [{ type: 'rich_text_preformatted', elements: [{ type: 'text', text }] }]
  const attachment = { color: '#E01E5A', fallback: '', blocks: [{ type: 'rich_text', elements }] }
  return slackPicture(text, [{ message: { text: '', attachments: [attachment] }, postedMs: 0 }])
}

async function inTeams(text: string): Promise<string> {
  const summary = { title: text, text, quote: text, fields: [{ title: text, value: text }] }
  const body = await bodyOf('teams', told(summary, loadedPresets.teams.markup ?? {}))
  return teamsPicture(text, { body: JSON.parse(body), sentMs: 0 })
}

/** The text of a picture, without its line breaks. */
function shownText(svg: string): string {
  const texts = [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text = '']) => text)
  return texts.join('').replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
}

test('the demo prints what the picture shows', async () => {
  const [, config = ''] =
    /```yaml\n(# try\.yaml\n[\s\S]*?)```/.exec(readFileSync(new URL('README.md', ROOT), 'utf8')) ?? []
  using desk = openDesk()
  const program = desk.start('demo', '-c', desk.write('try.yaml', `${config}server: false\n`))
  const awaited = LOOK.split('\n').slice(1).filter(Boolean).map(pattern)
  const missing = () => awaited.filter((line) => !line.test(program.output()))
  await waitFor(() => missing().length === 0, {
    timeoutMs: 80_000,
    what: () => `${missing().join('\n')}\nin\n${program.output()}`,
  })
  await program.end('SIGINT')
})

/** No two days are alike: other workloads, versions and names of pods. … stands for anything. */
function pattern(line: string): RegExp {
  const escaped = line.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const day = escaped
    .replaceAll(/\b\d+/g, '\\d+')
    .replaceAll(/\b(shop|pay|storefront|checkout)\b/g, '[a-z-]+')
    .replaceAll('nm9tfjpmtp-bg4kr', '[a-z0-9]+-[a-z0-9]+')
    .replaceAll('…', '.*')
  return new RegExp(day)
}
