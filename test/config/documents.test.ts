import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { builtInSinks } from '../../sinks/index.ts'
import { loadConfig } from '../../src/config/load.ts'

const ROOT = new URL('../../', import.meta.url)
const SECRET = `whsec_${Buffer.from('a-secret-of-thirty-two-bytes-or-so').toString('base64')}`

function examplesIn(file: string): string[] {
  return [...readFileSync(new URL(file, ROOT), 'utf8').matchAll(/```yaml\n([\s\S]*?)```/g)].map(
    ([, yaml = '']) => yaml,
  )
}

function load(text: string) {
  const env = { AUDIT_SECRET: SECRET, AUDIT_SECRET_OLD: SECRET }
  return loadConfig({ file: 'kubeherald.yaml', text, env, readFile: () => 'token', sinkTypes: builtInSinks })
}

test('the example of the README is a good configuration, without a warning', async () => {
  const [example = ''] = examplesIn('README.md')
  expect(await load(example)).toMatchObject({ ok: true, warnings: [] })
})

test.each(['sinks/webhook/README.md', 'sinks/stdout/README.md'])(
  'the example of %s is good',
  async (file) => {
    const [sinks = ''] = examplesIn(file)
    const name = /^ {2}(\w+):/m.exec(sinks)?.[1]
    expect(await load(`watch: [Pod]\n${sinks}rules: [{ name: all, to: [${name}] }]\n`)).toMatchObject({
      ok: true,
      warnings: [],
    })
  },
)
