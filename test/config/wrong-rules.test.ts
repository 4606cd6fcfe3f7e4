import { readdirSync, readFileSync, statSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { testsIn, unknownNames } from '../../src/cli/dry-run/test-files.ts'
import { FileReads } from '../../src/cli/load-config/file-reads.ts'
import { loadConfig } from '../../src/config/load.ts'
import { allSinks } from '../../src/sink-types.ts'

const FOLDER = fileURLToPath(new URL('../fixtures/config/rules/', import.meta.url))

/** Returns `severity code file:line:column` of each problem of a configuration and its tests. */
async function problemsIn(file: string): Promise<string[]> {
  const text = readFileSync(file, 'utf8')
  const readFile = (path: string) => readFileSync(path, 'utf8')
  const options = { file, text, env: {}, readFile, files: new FileReads().included, sinkTypes: allSinks }
  const loaded = await loadConfig(options)
  const problems = loaded.ok ? [...loaded.warnings] : loaded.problems
  if (loaded.ok) {
    const { cases, problems: ofTests } = testsIn(loaded.document)
    problems.push(...ofTests, ...unknownNames(cases, loaded.config))
  }
  return problems.map((it) => {
    const name = it.file.startsWith(FOLDER) ? relative(FOLDER, it.file) : it.file
    return `${it.severity} ${it.code} ${name}:${it.line}:${it.column}`
  })
}

const files = readdirSync(FOLDER).map((name) =>
  statSync(`${FOLDER}${name}`).isDirectory() ? `${FOLDER}${name}/kubeherald.yaml` : `${FOLDER}${name}`,
)

test('every mistake has its code, file, line and column', async () => {
  const found: string[] = []
  for (const file of files) {
    const problems = await problemsIn(file)
    expect(problems, file).not.toEqual([])
    found.push(...problems.toSorted())
  }
  await expect(`${found.join('\n')}\n`).toMatchFileSnapshot('../golden/config/wrong-rules.txt')
})
