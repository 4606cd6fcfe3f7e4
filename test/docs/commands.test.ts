import { globSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandsIn } from './shell.ts'
import { openStage, type Stage } from './stage.ts'

const ROOT = new URL('../../', import.meta.url)
const PAGES = ['*.md', 'docs/**/*.md', 'deploy/**/*.md', 'sinks/**/*.md', 'src/**/*.md']
  .flatMap((pattern) => globSync(pattern, { cwd: ROOT.pathname, exclude: ['**/node_modules/**'] }))
  .toSorted()

interface Elsewhere {
  command: RegExp
  page?: RegExp
  /** The test that types it, or a workflow's, where there is a registry and an engine. It names the page or has the command. */
  by: string
  /** What stands there in its place: the same, with what only it needs. */
  as?: string
}

/** What does not run on the stage. */
const ELSEWHERE: Elsewhere[] = [
  { command: /^npm start$/, by: 'test/cli/npm.test.ts' },
  { command: /^npm test$/, page: /^[A-Z]+\.md$/, by: '.ci/run' },
  { command: /^npm run check$/, by: '.github/workflows/ci.yml' },
  // A part of what npm test runs.
  { command: /^npm run test:fast$/, by: '.ci/run', as: 'npm test' },
  { command: /^npx vitest run test\/(image|release)$/, by: '.ci/run', as: 'npm test' },
  {
    command: /^(npm install|npm test|EVENTS_DB=|sqlite3 )/,
    page: /^docs\/examples/,
    by: 'test/examples.test.ts',
  },
  { page: /^deploy\/(helm|kustomize)\//, command: /./, by: 'test/deploy/readme.test.ts' },
  {
    page: /^deploy\/README/,
    command: /patch secret kubeherald-redis|restart statefulset/,
    by: 'test/deploy/whole-job.test.ts',
  },
  { page: /^deploy\/README/, command: /^redis-cli |appendonly/, by: 'test/cluster/disasters.test.ts' },
  {
    command: /^docker compose --profile demo up/,
    by: '.github/workflows/image.yml',
    as: 'docker compose --profile demo up --detach --wait',
  },
  {
    command: /^DEMO=demo-kafka docker compose/,
    by: '.github/workflows/image.yml',
    as: 'docker compose --profile demo --profile kafka up --detach --wait',
  },
  { command: /^docker compose .*down/, by: '.github/workflows/image.yml' },
  // Needs a cluster that containers reach: there it is only read.
  {
    command: /^docker compose up kubeherald/,
    by: '.github/workflows/image.yml',
    as: 'docker compose --profile cluster --profile demo --profile kafka config',
  },
  {
    command: /^npx kubeherald (demo|run)/,
    page: /quick-start/,
    by: 'test/docs/look.test.ts',
    as: "desk.start('demo', '-c'",
  },
  {
    command: /^npx kubeherald check/,
    page: /quick-start/,
    by: 'test/docs/recipes.test.ts',
    as: "['check', '--offline', '--strict']",
  },
  {
    command: /^npx kubeherald send-test/,
    page: /quick-start/,
    by: 'test/cli/send-test.test.ts',
    as: "'send-test', 'chat'",
  },
  { page: /^docs\/api\.md/, command: /^curl /, by: 'test/app/api/access.test.ts' },
  // With the chart of this clone, whose page has the same commands.
  {
    command: /^(kubectl|helm|npx kubeherald rbac) /,
    page: /quick-start/,
    by: 'test/deploy/readme.test.ts',
  },
  { page: /recipes\/operation/, command: /./, by: 'test/deploy/readme.test.ts' },
  // Needs a journal in which something has happened.
  { command: /^kubeherald backtest/, by: 'test/cluster/tail.test.ts', as: "desk.run('backtest'" },
  { command: /^kubeherald replay/, by: 'test/cluster/tail.test.ts', as: "command('replay'" },
  {
    command: /^kubeherald silence expire/,
    by: 'test/cli/control.test.ts',
    as: "'silence', 'expire'",
  },
  {
    command: /^kubeherald incidents acknowledge/,
    by: 'test/cli/control.test.ts',
    as: "'incidents', 'acknowledge'",
  },
  { command: /check\.sh$/, by: '.github/workflows/image.yml' },
  {
    command: /^docker run --rm/,
    by: 'deploy/image/check.sh',
    as: '$engine run $hardened "$image" --version',
  },
  {
    command: /^docker run --read-only/,
    by: 'deploy/image/check.sh',
    as: '$engine run $hardened -v "$PWD/deploy/compose:/etc/kubeherald:ro" "$image"',
  },
  { command: /^cosign verify/, by: '.github/workflows/release.yml', as: 'cosign verify "$IMAGE@$DIGEST"' },
  {
    command: /^gh attestation/,
    by: '.github/workflows/release.yml',
    as: 'gh attestation verify "oci://$IMAGE@$DIGEST"',
  },
  { command: /^npm audit signatures/, by: '.github/workflows/ci.yml' },
]

const commands = PAGES.flatMap((page) => commandsIn(page).map((command) => ({ page, ...command })))
const runs = ({ command, page }: Elsewhere, it: { page: string; text: string }) =>
  command.test(it.text) && (page?.test(it.page) ?? true)
const onStage = commands.filter((it) => !ELSEWHERE.some((elsewhere) => runs(elsewhere, it)))

test.each(ELSEWHERE)('$command runs in $by', (elsewhere) => {
  const there = readFileSync(new URL(elsewhere.by, ROOT), 'utf8')
  const those = commands.filter((it) => runs(elsewhere, it))
  expect(those).not.toEqual([])
  for (const { page, text } of those) {
    const named = [elsewhere.as ?? text, page].some((words) => there.includes(words))
    expect(named, `${elsewhere.by} has "${elsewhere.as ?? text}"`).toBe(true)
  }
})

test.each(PAGES)('the commands of %s stand in blocks that are looked at', (page) => {
  expect(readFileSync(new URL(page, ROOT), 'utf8')).not.toMatch(/^```(bash|shell|console|zsh)/m)
})

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

/** Stays until somebody ends it: here it ends by itself. */
const TAIL = /^kubeherald tail\b(?!.*--(?:for|help))/
const STAYS = /^kubeherald (run|demo)\b(?!.*--help)/
/** Of pages: an id of the stage stands in for it. */
const SAMPLE_ID = '1763712000000-0'

test.each(onStage.map(({ place, text }) => [place, text]))('%s: %s', async (_, text) => {
  if (STAYS.test(text)) return void (await stage.stay(text))
  if (TAIL.test(text)) return void expect(await stage.run(`${text} --for 1s`)).toMatchObject({ code: 0 })
  const shorter = text.replace(/--for \ds$/, '--for 1s')
  const command = text.includes(SAMPLE_ID) ? text.replace(SAMPLE_ID, await stage.deadLetter()) : shorter
  const { code, output } = await stage.run(command)
  expect(code, output).toBe(0)
})
