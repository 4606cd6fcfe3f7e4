import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { importText, TOOLS } from '../../src/cli/import/import.ts'
import { openDesk } from '../cli/cli.ts'
import { runHere } from '../cli/here.ts'
import { renderedMessages } from './rendered.ts'

const ROOT = new URL('../../', import.meta.url).pathname
const PAGES = globSync('docs/{concepts,{recipes,guides,migrate}/*}.md', { cwd: ROOT }).toSorted()
const BLOCK = /^```(\w*)\n([\s\S]*?)^```/gm

interface Recipe {
  place: string
  config: string
  /** The blocks `text` and `json` below it, up to the next configuration. */
  shown: string[]
}

const recipes: Recipe[] = PAGES.flatMap((page) => {
  const text = readFileSync(join(ROOT, page), 'utf8')
  const found: Recipe[] = []
  for (const { 1: language, 2: content = '', index } of text.matchAll(BLOCK)) {
    const place = `${page}:${text.slice(0, index).split('\n').length}`
    if (language === 'yaml' && !/^# (values|claim)\.yaml\n/.test(content))
      found.push({ place, config: content, shown: [] })
    else if (language === 'text' || language === 'json') found.at(-1)?.shown.push(content)
  }
  return found
})

test('the list has each recipe', () => {
  const index = readFileSync(join(ROOT, 'docs/recipes/README.md'), 'utf8')
  const entries = [...index.matchAll(/^\| \[[^\]]+\]\(\w+\.md#/gm)]
  const headings = PAGES.filter((page) => page.startsWith('docs/recipes/') && !page.endsWith('README.md'))
    .map((page) => readFileSync(join(ROOT, page), 'utf8'))
    .flatMap((text) => [...text.matchAll(/^## /gm)])
  expect(entries).toHaveLength(headings.length)
  expect(entries.length).toBeGreaterThanOrEqual(22)
})

test.each(TOOLS)('the example of a configuration of %s is one that the tool understands', (tool) => {
  const page = readFileSync(join(ROOT, `docs/migrate/${tool}.md`), 'utf8')
  const [, example = ''] = /^```text\n([\s\S]*?)^```$/m.exec(page) ?? []
  const { lost, heading } = importText(example, 'it.yaml', tool)
  // Of Events this is the one setting that has no counterpart.
  expect(lost.filter((it) => !it.startsWith('maxEventAgeSeconds'))).toEqual([])
  expect(heading.filter((it) => it.includes('not enabled'))).toEqual([])
})

test('the body that keeps the form of the webhook of kubewatch is the one of its importer', () => {
  const page = readFileSync(join(ROOT, 'docs/migrate/kubewatch.md'), 'utf8')
  const configs = [...page.matchAll(BLOCK)].filter(([, language]) => language === 'yaml')
  const bodies = configs.flatMap(([, , text = '']) => parse(text, { merge: true }).sinks.hook?.body ?? [])
  const source = stringify({ handler: { webhook: { url: 'https://a/b' } }, resource: { namespace: true } })
  expect(bodies).toEqual([importText(source, 'it.yaml').sinks[0]?.value['body']])
})

test('the quick start writes the longer configuration next to its own, and names the variables of both', async () => {
  using desk = openDesk()
  const page = readFileSync(join(ROOT, 'docs/quick-start.md'), 'utf8')
  const [, first = ''] = /```yaml\n(# kubeherald\.yaml\n[\s\S]*?)```/.exec(page) ?? []
  desk.write('kubeherald.yaml', first)
  const [, command = ''] = /`npx kubeherald (init [^`]+)`/.exec(page) ?? []
  expect(await runHere(desk, ...command.split(' '))).toMatchObject({ code: 0, stderr: '' })
  const written = globSync('*.yaml', { cwd: desk.cwd }).map((it) => readFileSync(join(desk.cwd, it), 'utf8'))
  const used = written.flatMap((text) => [...text.matchAll(/^ +chat: .*\$\{env:(\w+)\}/gm)])
  expect(used).toHaveLength(2)
  for (const [, variable] of used) expect(page.replaceAll(BLOCK, '')).toContain(variable)
})

test.each(recipes.map((it) => [it.place, it] as const))(
  'the configuration at %s passes its tests, nothing is wrong with it, and it sends what is shown',
  async (place, { config, shown }) => {
    using desk = openDesk()
    const file = desk.write('kubeherald.yaml', config)
    const commands = [
      ['check', '--offline', '--strict'],
      ['test', '--coverage'],
    ]
    for (const args of commands) {
      const { code, stdout, stderr } = await runHere(desk, ...args)
      expect(code, `${stdout}${stderr}`).toBe(0)
      expect(stdout).not.toMatch(/no test/i)
    }
    const rendered = await renderedMessages(file)
    if (place.startsWith('docs/recipes/')) expect(shown).not.toEqual([])
    for (const block of shown) expect(missingLines(block, rendered), rendered).toEqual([])
  },
)

test('a claim that one node mounts at a time comes with values that end the old pod before the new one starts', () => {
  const blocks = PAGES.flatMap((page) => [...readFileSync(join(ROOT, page), 'utf8').matchAll(BLOCK)])
  const bodies = blocks.map(([, , content = '']) => content)
  const claims = bodies.filter((it) => it.startsWith('# claim.yaml\n') && it.includes('ReadWriteOnce'))
  expect(claims).not.toEqual([])
  for (const claim of claims) {
    const before = bodies.slice(0, bodies.indexOf(claim))
    const values = before.findLast((it) => it.startsWith('# values.yaml\n')) ?? ''
    expect(parse(values)).toMatchObject({ strategy: 'Recreate' })
  }
})

test.each(['try.yaml', 'kubeherald.yaml'])('nothing is wrong with %s of the quick start', async (name) => {
  const text = readFileSync(join(ROOT, 'docs/quick-start.md'), 'utf8')
  const [, config = ''] = new RegExp(`\\n\`\`\`yaml\n(# ${name}\n[\\s\\S]*?)\`\`\``).exec(text) ?? []
  using desk = openDesk()
  desk.write(name, config)
  const { code, stdout, stderr } = await runHere(desk, 'check', '--offline', '--strict', '-c', name)
  expect(code, `${stdout}${stderr}`).toBe(0)
})

/** Returns the lines of a block that the text does not have in this order. `…` stands for anything. */
function missingLines(block: string, text: string): string[] {
  const lines = text.split('\n')
  return block.split('\n').filter((wanted) => {
    if (wanted.trim() === '') return false
    const parts = wanted
      .trim()
      .split('…')
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    const pattern = new RegExp(`^\\s*${parts.join('.*')}`)
    const at = lines.findIndex((line) => pattern.test(line))
    if (at >= 0) lines.splice(0, at + 1)
    return at < 0
  })
}
