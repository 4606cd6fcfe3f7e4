import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openDesk } from '../cli/cli.ts'

const PAGE = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8')
const RIGHTS = PAGE.slice(PAGE.indexOf('\n## Permissions\n'))

test('the page shows a role as rbac prints it', async () => {
  using desk = openDesk()
  desk.write('prod.yaml', 'watch: [Event, { kind: Deployment, namespaces: [shop] }]\n')
  const { stdout } = await desk.run('rbac', '--config', 'prod.yaml')
  const shown = /```yaml\n([\s\S]*?)```/.exec(RIGHTS)?.[1]
  expect(shown).toContain('kind: Role\n')
  expect(stdout.split('---\n')).toContain(shown)
})

test('the commands of the page are understood', async () => {
  using desk = openDesk()
  const sinks = 'sinks: { screen: { type: stdout } }\nrules: [{ name: all, to: screen }]\n'
  desk.write('prod.yaml', `watch: [Event]\n${sinks}`)
  const commands = [...RIGHTS.matchAll(/^kubeherald ((?:rbac|check) .*?) *(?:[|>#].*)?$/gm)].map(
    ([, rest = '']) => rest,
  )
  expect(commands).toHaveLength(5)
  const results = await Promise.all(commands.map((it) => desk.run(...it.split(/\s+/))))
  expect(results.map(({ code, stderr }) => `${code} ${stderr}`)).toEqual(commands.map(() => '0 '))
})
