import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { EVENT_REASONS } from '../../src/config/lint/event-reasons.ts'
import { openDesk } from '../cli/cli.ts'
import { runHere } from '../cli/here.ts'

const ROOT = new URL('../../', import.meta.url).pathname
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const files = (pattern: string) => globSync(pattern, { cwd: ROOT }).toSorted()

const EXAMPLES = files('docs/examples/rules/*.yaml').filter((file) => !file.endsWith('_test.yaml'))
const PAGES = files('docs/rules/*.md')
/** Whole files in pages that have tests, by page and line. */
const BLOCKS = [...PAGES, 'README.md', 'docs/examples/rules/README.md'].flatMap((page) => {
  const text = read(page)
  return [...text.matchAll(/^```yaml\n([\s\S]*?)^```/gm)]
    .filter(([, yaml = '']) => /^tests:/m.test(yaml))
    .map(({ 1: yaml = '', index }) => ({ page, line: text.slice(0, index).split('\n').length + 1, yaml }))
})

async function passes(...args: string[]): Promise<string> {
  using desk = openDesk()
  const { code, stdout, stderr } = await runHere(desk, ...args)
  expect(code, `${args.join(' ')}\n${stdout}${stderr}`).toBe(0)
  return stdout
}

describe.each(EXAMPLES)('%s', (file) => {
  test('its tests pass, and each rule has one that matches', async () => {
    const output = await passes('test', '-c', join(ROOT, file), '--coverage')
    expect(output).toMatch(/\n\d+ passed /)
    expect(output).not.toMatch(/no test/i)
  })

  test('nothing is wrong with it', async () => {
    await passes('check', '--offline', '--strict', '-c', join(ROOT, file))
  })

  test('it is short', () => {
    const lines = read(file)
      .split('\n')
      .filter((line) => /^\s*[^#\s]/.test(line))
    expect(lines.length).toBeLessThanOrEqual(12)
  })

  test('its folder says what it is for', () => {
    const name = file.slice(file.lastIndexOf('/') + 1)
    expect(read('docs/examples/rules/README.md')).toContain(`[${name}](${name})`)
  })
})

test('the page about reasons has those of Kubernetes that check knows', () => {
  const page = read('docs/rules/reason.md')
  const rows = Object.entries(EVENT_REASONS).map(
    ([component, reasons]) => `| ${component} | ${reasons.map((it) => `\`${it}\``).join(', ')} |`,
  )
  for (const row of rows) expect(page).toContain(row)
})

test('there are examples for what people ask for', () => {
  expect(EXAMPLES.length).toBeGreaterThanOrEqual(20)
})

test.each(BLOCKS.map(({ page, line, yaml }) => [`${page}:${line}`, yaml] as const))(
  'the example at %s passes its tests, and nothing is wrong with it',
  async (_, yaml) => {
    using desk = openDesk()
    desk.write('kubeherald.yaml', yaml)
    for (const args of [['test'], ['check', '--offline', '--strict']]) {
      const { code, stdout, stderr } = await runHere(desk, ...args)
      expect(code, `${stdout}${stderr}`).toBe(0)
    }
  },
)

test.each(PAGES)('%s has an example with tests', (page) => {
  expect(BLOCKS.map((it) => it.page)).toContain(page)
})

interface Schema {
  $ref?: string
  properties?: Record<string, Schema>
  items?: Schema
  anyOf?: Schema[]
  definitions?: Record<string, Schema>
}

/** The keys of a rule, and of its `when`, as the schema has them. */
function keysOfRules(): string[] {
  const schema = JSON.parse(read('docs/kubeherald.schema.json')) as Schema
  const whole = (it: Schema | undefined): Schema[] => {
    const target = it?.$ref ? schema.definitions?.[it.$ref.split('/').at(-1) ?? ''] : it
    return target ? [target, ...(target.anyOf ?? []).flatMap(whole)] : []
  }
  const inside = (it: Schema | undefined) =>
    whole(it).flatMap(({ properties = {} }) => Object.entries(properties))
  const rule = whole(schema.properties?.['rules']).flatMap(({ items }) => inside(items))
  const when = rule.filter(([key]) => key === 'when').flatMap(([, it]) => inside(it))
  return [...new Set([...rule, ...when].map(([key]) => key))]
}

test('every key of a rule has a page, which the first page names', () => {
  const titles = PAGES.flatMap((page) => read(page).split('\n')[0]?.replace('# ', '').split(', ') ?? [])
  const keys = keysOfRules()
  expect(keys).toEqual(expect.arrayContaining(['when', 'to', 'throttle', 'namespaceLabels', 'to-state']))
  // The page of rules itself tells what `when` is.
  expect(keys.filter((key) => key !== 'when' && !titles.includes(key))).toEqual([])
  const first = read('docs/rules/README.md')
  for (const page of PAGES.filter((it) => !it.endsWith('README.md')))
    expect(first).toContain(`](${page.slice(page.lastIndexOf('/') + 1)})`)
})
