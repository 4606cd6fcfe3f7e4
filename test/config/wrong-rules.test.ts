import { readdirSync, readFileSync, statSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { builtInSinks } from '../../sinks/index.ts'
import { FileReads } from '../../src/commands/reading/file-reads.ts'
import { loadConfig } from '../../src/config/load.ts'
import { formatProblems } from '../../src/config/problem.ts'
import { testsIn } from '../../src/dry-run/test-case.ts'
import { unknownNames } from '../../src/dry-run/test-file.ts'

const FOLDER = fileURLToPath(new URL('../fixtures/config/rules/', import.meta.url))
const GOLDEN = '../golden/config/rules'

/** What `kubeherald check` says of a configuration and its tests, with the names of files relative to its folder. */
async function answerTo(file: string): Promise<string> {
  const text = readFileSync(file, 'utf8')
  const readFile = (path: string) => readFileSync(path, 'utf8')
  const options = { file, text, env: {}, readFile, files: new FileReads().included, sinkTypes: builtInSinks }
  const loaded = await loadConfig(options)
  const problems = loaded.ok ? [...loaded.warnings] : loaded.problems
  if (loaded.ok) {
    const { cases, problems: ofTests } = testsIn(loaded.document)
    problems.push(...ofTests, ...unknownNames(cases, loaded.config))
  }
  return formatProblems(problems, loaded.texts).replaceAll(/\/\S*\/fixtures\/config\/rules\//g, '')
}

const cases = readdirSync(FOLDER).map((name) => {
  const isFolder = statSync(`${FOLDER}${name}`).isDirectory()
  return [
    name.replace('.yaml', ''),
    isFolder ? `${FOLDER}${name}/kubeherald.yaml` : `${FOLDER}${name}`,
  ] as const
})

test.each(cases)('acceptance 3: %s is told with its place and what to write', async (name, file) => {
  const answer = await answerTo(file)
  expect(answer).toContain(relative(FOLDER, file).split('/')[0])
  await expect(answer).toMatchFileSnapshot(`${GOLDEN}/${name}.txt`)
})

test('there are more than thirty', () => {
  expect(cases.length).toBeGreaterThan(30)
})
