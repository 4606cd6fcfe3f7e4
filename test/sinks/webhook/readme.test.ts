import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PRESET_NAMES } from '../../../sinks/webhook/presets/names.ts'
import { loadText } from '../../config/load-text.ts'

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
const README = read('sinks/webhook/README.md')
const SERVICES = read('sinks/webhook/presets/README.md')
const EXAMPLES = [...(README + SERVICES).matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = '']) => yaml)
const SECRET = `whsec_${Buffer.from('a-secret-of-thirty-two-bytes-or-so').toString('base64')}`
const env = {
  AUDIT_SECRET: SECRET,
  AUDIT_SECRET_OLD: SECRET,
  ...Object.fromEntries(
    [...EXAMPLES.join().matchAll(/\$\{env:(\w+_(URL|KEY|TOKEN|SECRET|PASSWORD|TOPIC))\}/g)]
      .map(([, name = '']) => name)
      .filter((name) => !name.startsWith('AUDIT'))
      .map((name) => [name, name.endsWith('_URL') ? 'https://example.com/x' : 'R0UTINGKEY']),
  ),
  CLIENT_SECRET: 's3cret',
}

test.each(EXAMPLES)('an example of the README is a good configuration: %s', async (sinks) => {
  const names = [...sinks.matchAll(/^ {2}([\w-]+):/gm)].map(([, name]) => name)
  const text = `watch: [Pod]\n${sinks}rules: [{ name: all, to: [${names.join(', ')}] }]\n`
  const loaded = await loadText(text, { env, readFile: () => 'token' })
  expect(loaded).toMatchObject({ ok: true, warnings: [] })
})

test('the README has an example of every preset and format', () => {
  for (const name of PRESET_NAMES) expect(EXAMPLES.join()).toMatch(new RegExp(`(preset|type): ${name}\\b`))
  for (const format of ['structured', 'binary', 'batch'])
    expect(EXAMPLES.join()).toContain(`format: ${format}`)
  expect(EXAMPLES.join()).toMatch(/body:\n/)
  expect(EXAMPLES.join()).toMatch(/raw: \|\n/)
})

test('the message that the README shows is that of the golden file', () => {
  const [, shown = ''] = /```json\n([\s\S]*?)\n```\n<\/details>/.exec(README) ?? []
  const golden = readFileSync(new URL('../../golden/webhook/discord.json', import.meta.url), 'utf8')
  expect(JSON.parse(shown)).toEqual(JSON.parse(golden).crash)
})

test('the page of the services names each preset, and shows what it sends as the golden file has it', () => {
  for (const name of PRESET_NAMES) expect(SERVICES).toContain(`\`${name}\``)
  const sections = SERVICES.split(/^### /m).slice(1)
  expect(sections).toHaveLength(15)
  for (const section of sections) {
    const name = /type: ([\w-]+)/.exec(section)?.[1]
    const [, shown = ''] = /```json\n([\s\S]*?)\n```\n<\/details>/.exec(section) ?? []
    const { crash } = JSON.parse(read(`test/golden/webhook/${name}.json`))
    const documents = name === 'elasticsearch' ? crash : [crash]
    expect(shown.split(/\n(?=\{)/).map((it) => JSON.parse(it))).toEqual(documents)
  }
})
