import { existsSync, globSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandsIn } from './shell.ts'
import { openStage, type Stage } from './stage.ts'

const ROOT = new URL('../../', import.meta.url)
const PAGES = ['*.md', 'docs/**/*.md', 'deploy/**/*.md', 'sinks/**/*.md', 'examples/**/*.md', 'src/**/*.md']
  .flatMap((pattern) => globSync(pattern, { cwd: ROOT.pathname, exclude: ['**/node_modules/**'] }))
  .toSorted()

/** What does not run on the stage, and the test that runs it. */
const ELSEWHERE: { command: RegExp; by: string }[] = [
  { command: /^npm start\b/, by: 'test/commands/run.test.ts' },
  { command: /^npm (test|run check)$/, by: '.ci/run' },
  { command: /^(npm install|npm test|EVENTS_DB=|sqlite3 )/, by: 'test/examples.test.ts' },
  { command: /docker (compose|run|build)|check\.sh/, by: 'deploy/image/check.sh' },
]

const commands = PAGES.flatMap(commandsIn)
const onStage = commands.filter(({ text }) => !ELSEWHERE.some(({ command }) => command.test(text)))

test('every pattern of what runs elsewhere is used, and its test is there', () => {
  for (const { command, by } of ELSEWHERE) {
    expect(
      commands.some(({ text }) => command.test(text)),
      String(command),
    ).toBe(true)
    expect(existsSync(new URL(by, ROOT)), by).toBe(true)
  }
})

test.each(PAGES)('the commands of %s stand in blocks that are looked at', (page) => {
  expect(readFileSync(new URL(page, ROOT), 'utf8')).not.toMatch(/^```(bash|shell|console|zsh)/m)
})

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
}, 90_000)
afterAll(() => stage?.[Symbol.asyncDispose]())

const STAYS = /^kubeherald (run|demo)\b(?!.*--help)/
/** Of pages: an id of the stage stands in for it. */
const SAMPLE_ID = '1763712000000-0'

test.each(onStage.map(({ place, text }) => [place, text]))('%s: %s', { timeout: 60_000 }, async (_, text) => {
  if (STAYS.test(text)) return void (await stage.stay(text))
  const command = text.includes(SAMPLE_ID) ? text.replace(SAMPLE_ID, await stage.deadLetter()) : text
  const { code, output } = await stage.run(command)
  expect(code, output).toBe(0)
})
