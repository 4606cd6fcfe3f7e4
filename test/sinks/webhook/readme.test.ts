import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PRESET_NAMES } from '../../../sinks/webhook/presets/names.ts'
import { loadText } from '../../config/load-text.ts'

const README = readFileSync(new URL('../../../sinks/webhook/README.md', import.meta.url), 'utf8')
const EXAMPLES = [...README.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = '']) => yaml)
const SECRET = `whsec_${Buffer.from('a-secret-of-thirty-two-bytes-or-so').toString('base64')}`
const env = {
  AUDIT_SECRET: SECRET,
  AUDIT_SECRET_OLD: SECRET,
  TEAMS_URL: 'https://prod.example.com/workflows/1?sig=x',
  DISCORD_URL: 'https://discord.com/api/webhooks/1/x',
  PAGERDUTY_KEY: 'R0UTINGKEY',
  MATTERMOST_URL: 'https://chat.example.com/hooks/x',
  GOOGLE_CHAT_URL: 'https://chat.googleapis.com/v1/spaces/x/messages?key=k&token=t',
  CLIENT_SECRET: 's3cret',
}

test.each(EXAMPLES)('an example of the README is a good configuration: %s', async (sinks) => {
  const names = [...sinks.matchAll(/^ {2}([\w-]+):/gm)].map(([, name]) => name)
  const text = `watch: [Pod]\n${sinks}rules: [{ name: all, to: [${names.join(', ')}] }]\n`
  const loaded = await loadText(text, { env, readFile: () => 'token' })
  expect(loaded).toMatchObject({ ok: true, warnings: [] })
})

test('the README has an example of every preset and format', () => {
  for (const name of PRESET_NAMES) expect(EXAMPLES.join()).toContain(`preset: ${name}`)
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
