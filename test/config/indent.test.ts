import { expect, test } from 'vitest'
import { formatProblems } from '../../src/config/problem.ts'
import { loadText } from './load-text.ts'

async function answer(text: string): Promise<string> {
  const loaded = await loadText(text)
  if (loaded.ok) throw new Error('it was accepted')
  return formatProblems(loaded.problems, text)
}

const RULES = 'rules: [{ name: all, to: screen }]\n'

test('options as deep as the name of their sink: the hints say to indent them', async () => {
  const said = await answer(`watch: [Event]\nsinks:\n  screen:\n  type: stdout\n${RULES}`)
  expect(said).toContain('write its options below it, indented by two more spaces')
  expect(said).toContain('it belongs below the name of a sink: indent it by two more spaces')
  expect(said).not.toMatch(/leave it out|type: \{/)
})

test('a sink as deep as "sinks": the hint does not advise to leave "sinks" out', async () => {
  const said = await answer(`watch: [Event]\nsinks:\nscreen:\n  type: stdout\n${RULES}`)
  expect(said).toContain('name a sink below it, indented')
  expect(said).not.toContain('leave it out')
})

test('what npm prints before the output of the program is named as such', async () => {
  const said = await answer(`
> kubeherald@0.1.0 start
> exec node deploy/local/start.mjs init --output -

watch: [Event]
`)
  expect(said).toContain('npm printed this line')
  expect(said).toContain('npm start --silent --')
})
