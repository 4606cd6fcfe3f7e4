import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { expect, test } from 'vitest'
import { describeCommands } from '../../src/cli/commands/describe.ts'
import { addGlobalOptions } from '../../src/cli/commands/options.ts'
import { commandTree, withDescendants } from '../../src/cli/completion/completion.ts'
import { type Desk, openDesk } from './cli.ts'
import { runHere } from './here.ts'

async function script(desk: Desk, shell: string): Promise<string> {
  const { code, stdout } = await runHere(desk, 'completion', shell)
  expect(code).toBe(0)
  return stdout
}

test('bash completes commands, options and their values', async () => {
  using desk = openDesk()
  desk.write('completion.bash', await script(desk, 'bash'))
  const cases: [words: string[], completed: string[]][] = [
    [['ch'], ['check']],
    [['dead-letters', 're'], ['retry']],
    [['dead-letters', 'list', '--li'], ['--limit']],
    [['check', '--of'], ['--offline']],
    [
      ['check', '-o', ''],
      ['table', 'json', 'yaml'],
    ],
    [['check', '--output=y'], ['yaml']],
    [['-q', 'stat'], ['status']],
    [['--role', 'd'], ['deliver']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['help', 'rou'], ['routes']],
    // A value that looks like a command, a text that no shell knows, and a file, which bash completes by itself.
    [['check', '--context', 'te'], []],
    [['check', '--config', 'te'], []],
    [['explain', 'te'], []],
  ]
  const calls = cases.map(([words]) => `try ${words.map((it) => `'${it}'`).join(' ')}`)
  desk.write(
    'try.bash',
    `source ./completion.bash
try() {
  COMP_LINE="kubeherald $*"; COMP_POINT=\${#COMP_LINE}
  _kubeherald 2> /dev/null
  echo "\${COMPREPLY[*]}"
}
${calls.join('\n')}
complete -p kubeherald
`,
  )
  const { stdout, stderr } = spawnSync('bash', ['--norc', 'try.bash'], { cwd: desk.cwd, encoding: 'utf8' })
  expect(stderr).toBe('')
  const lines = stdout.trimEnd().split('\n')
  expect(lines.at(-1)).toBe('complete -o default -F _kubeherald kubeherald')
  expect(lines.slice(0, -1)).toEqual(cases.map(([, completed]) => completed.join(' ')))
})

test('each script has all commands, options and choices', async () => {
  using desk = openDesk()
  const program = new Command('kubeherald')
  describeCommands(addGlobalOptions(program), () => {})
  const nodes = withDescendants(commandTree(program))
  expect(nodes.length).toBeGreaterThan(20)
  for (const shell of ['bash', 'zsh', 'fish']) {
    const text = await script(desk, shell)
    const longOf = (long: string) => (shell === 'fish' ? `-l ${long.slice(2)} ` : long)
    const expected = nodes.flatMap(({ name, options }) => [name, ...options.map(({ long }) => longOf(long))])
    expect(expected.filter((it) => !text.includes(it))).toEqual([])
  }
})

test.each(['zsh', 'fish'])('%s reads its script', async (shell) => {
  using desk = openDesk()
  const file = desk.write(`completion.${shell}`, await script(desk, shell))
  const { error, status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' })
  // Not on every machine.
  if (!error) expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})

test('a shell that is not known is a mistake', async () => {
  using desk = openDesk()
  expect(await runHere(desk, 'completion', 'tcsh')).toMatchObject({ code: 2, stdout: '' })
})

test('the page of commands names every command and every option', () => {
  const page = readFileSync(new URL('../../docs/commands.md', import.meta.url), 'utf8')
  const program = new Command('kubeherald')
  describeCommands(addGlobalOptions(program), () => {})
  const nodes = withDescendants(commandTree(program)).filter(({ path }) => path.length > 0)
  const names = nodes.filter(({ commands }) => commands.length === 0).map(({ path }) => `\`${path.join(' ')}`)
  const options = nodes.flatMap((node) => node.options.map(({ long }) => long))
  const missing = [...names, ...new Set(options)].filter((it) => !page.includes(it))
  expect(missing).toEqual([])
})
