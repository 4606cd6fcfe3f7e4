import { existsSync, globSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandsIn } from './shell.ts'
import { openStage, type Stage } from './stage.ts'

const ROOT = new URL('../../', import.meta.url)
const PAGES = ['*.md', 'docs/**/*.md', 'deploy/**/*.md', 'sinks/**/*.md', 'examples/**/*.md', 'src/**/*.md']
  .flatMap((pattern) => globSync(pattern, { cwd: ROOT.pathname, exclude: ['**/node_modules/**'] }))
  .toSorted()

/** What does not run on the stage, and what runs it: another test, or a workflow where there is a registry and an engine. */
const ELSEWHERE: { command: RegExp; page?: RegExp; by: string }[] = [
  { command: /^npm start\b/, by: 'test/commands/run.test.ts' },
  { command: /^npm (test|run check)$|^npx vitest run /, by: '.ci/run' },
  { command: /^(npm install|npm test|EVENTS_DB=|sqlite3 )/, by: 'test/examples.test.ts' },
  { page: /^deploy\/(helm|kustomize)\//, command: /./, by: 'test/deploy/readme.test.ts' },
  { page: /^deploy\/README/, command: /^redis-cli |appendonly/, by: 'test/cluster/disasters.test.ts' },
  { command: /docker compose/, by: 'test/image/compose.test.ts' },
  { command: /^docker run|check\.sh$/, by: '.github/workflows/image.yml' },
  { command: /^(cosign|gh) /, by: '.github/workflows/release.yml' },
  { command: /^npm audit signatures/, by: '.github/workflows/ci.yml' },
]

const commands = PAGES.flatMap((page) => commandsIn(page).map((command) => ({ page, ...command })))
const runs = ({ command, page }: (typeof ELSEWHERE)[0], it: { page: string; text: string }) =>
  command.test(it.text) && (page?.test(it.page) ?? true)
const onStage = commands.filter((it) => !ELSEWHERE.some((elsewhere) => runs(elsewhere, it)))

test.each(ELSEWHERE)('$command runs in $by', (elsewhere) => {
  expect(commands.some((it) => runs(elsewhere, it))).toBe(true)
  expect(existsSync(new URL(elsewhere.by, ROOT))).toBe(true)
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
