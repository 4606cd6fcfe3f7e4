import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runTool } from '../servers/deploy-tools.ts'
import { CHART, type Manifest, parse, ROOT } from './render.ts'

const read = (page: string) => readFileSync(join(ROOT, page), 'utf8')

/** What a documented `helm install` or `helm upgrade --install` would apply; files are those of the folder. */
async function rendered(command: string, folder = ''): Promise<Manifest[]> {
  const [, ...args] = command
    .replace(/helm (install|upgrade --install) /, 'helm template ')
    .replace(/oci:\S+|deploy\/helm\/kubeherald/, CHART)
    .replaceAll('--values ', `--values ${folder}/`)
    .split(/\s+/)
  const { code, stdout, stderr } = await runTool('helm', args)
  if (code !== 0) throw new Error(stderr)
  return parse(stdout)
}

test('the inline commands of README.md install the chart', async () => {
  const commands = [...read('README.md').matchAll(/`(helm (?:install|upgrade) [^`]+)`/g)]
  expect(commands).not.toEqual([])
  for (const [, command = ''] of commands) {
    const manifests = await rendered(command)
    expect(manifests.map(({ kind }) => kind)).toContain('Deployment')
  }
})
