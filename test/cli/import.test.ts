import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDesk } from './cli.ts'
import { runHere } from './here.ts'

const KUBEWATCH = 'handler: { slack: { token: xoxb-1, channel: k8s } }\nresource: { pod: true }\n'

test('import prints the configuration, and what to do next on stderr', async () => {
  using desk = openDesk()
  const file = desk.write('kubewatch.yaml', KUBEWATCH)
  const { code, stdout, stderr } = await runHere(desk, 'import', 'kubewatch', file)
  expect(stdout).toContain('watch: [ Pod ]')
  expect(stderr).toBe('Write it to kubeherald.yaml, read its comments, then: kubeherald check\n')
  expect(code).toBe(0)
  expect(await runHere(desk, 'import', file)).toEqual({ code, stdout, stderr })
})

test.each([
  [
    'handler: { slack: { token: xoxb-1, channel: k8s } }\nresource: { pod: true, pods: true }',
    0,
    /carried over: 1 setting,/,
  ],
  ['handler: { flock: { url: x } }\nresource: { pod: true }', 3, /Disabled: 1 rule and 1 sink,/],
])('import of %j counts on stderr what is lost, and exits with %i', async (text, expected, message) => {
  using desk = openDesk()
  const { code, stdout, stderr } = await runHere(desk, 'import', 'kubewatch', desk.write('a.yaml', text))
  expect(stderr).toMatch(message)
  expect(code).toBe(expected)
  const check = await runHere(desk, 'check', '--offline', '--config', desk.write('kubeherald.yaml', stdout))
  expect(check.code).toBe(0)
})

test('a text that looks like YAML is searched without warnings of the parser', async () => {
  using desk = openDesk()
  const file = desk.write('a.yaml', 'a: { b: "{{ .Message }}" }\n')
  const { code, stderr } = await desk.run('import', file)
  expect(stderr).toMatch(/^kubeherald: .*a\.yaml is not a configuration of .*\n$/)
  expect(code).toBe(2)
})

test('the help of import names the call of npm that writes no lines of its own', async () => {
  using desk = openDesk()
  expect((await runHere(desk, 'import', '--help')).stdout).toContain('npm start --silent -- import')
})

test('under npm, import advises the command of npm', async () => {
  using desk = openDesk()
  desk.env['npm_lifecycle_event'] = 'start'
  const { stderr } = await runHere(desk, 'import', 'kubewatch', desk.write('kubewatch.yaml', KUBEWATCH))
  expect(stderr).toContain('then: npm start -- check\n')
})

test('init writes through no link that leads nowhere', async () => {
  using desk = openDesk()
  const target = join(desk.dir, 'elsewhere.yaml')
  symlinkSync(target, join(desk.dir, 'work', 'kubeherald.yaml'))
  const { code, stderr } = await runHere(desk, 'init', '--offline')
  expect([code, stderr]).toEqual([2, expect.stringContaining('--force')])
  expect(existsSync(target)).toBe(false)
})

test('init into a path that cannot be is a mistake of the user', async () => {
  using desk = openDesk()
  desk.write('a.yaml', '')
  const { code, stderr } = await runHere(desk, 'init', '--offline', '--output', 'a.yaml/b.yaml')
  expect([code, stderr]).toEqual([
    2,
    'kubeherald: cannot write a.yaml/b.yaml: a part of the path is a file\n',
  ])
})

test.each([
  ['default', [], 'Next: kubeherald check, kubeherald tail\n'],
  ['named', ['--output', 'mine.yaml'], 'check --config mine.yaml, kubeherald tail --config mine.yaml\n'],
])('init advises commands that read the %s file', async (_, args, advice) => {
  using desk = openDesk()
  const { code, stdout } = await runHere(desk, 'init', '--offline', ...args)
  expect(stdout).toContain(advice)
  expect(code).toBe(0)
})

test('init names its file where $KUBEHERALD_CONFIG names another one', async () => {
  using desk = openDesk({ KUBEHERALD_CONFIG: 'other.yaml' })
  const { stdout } = await runHere(desk, 'init', '--offline')
  expect(stdout).toContain('check --config kubeherald.yaml, kubeherald tail --config kubeherald.yaml\n')
})

test.each([
  ['kubwatch', KUBEWATCH, 'nothing is known of "kubwatch"; did you mean kubewatch?'],
  ['botkube', KUBEWATCH, 'it has no sources and no communications; it looks like one of kubewatch'],
  ['kubewatch', 'handler: [', 'foreign.yaml:1:11: '],
  ['kubernetes-event-exporter', 'route: {}\nreceivers: 5', 'foreign.yaml:2:12: "receivers" must be a list'],
  ['kubernetes-event-exporter', 'route: []', 'foreign.yaml:1:8: "route" must be a map of keys and values'],
  ['botkube', 'sources: x', 'foreign.yaml:1:10: "sources" must be a map of keys and values'],
])('import %s refuses what it cannot read, with a reason', async (tool, text, message) => {
  using desk = openDesk()
  const { code, stderr } = await runHere(desk, 'import', tool, desk.write('foreign.yaml', text))
  expect(stderr).toContain(message)
  expect(stderr).not.toMatch(/\n\s+at /)
  expect(code).toBe(2)
})

test('a file that is not there is a mistake', async () => {
  using desk = openDesk()
  const { code, stderr } = await runHere(desk, 'import', 'kubewatch', 'nowhere.yaml')
  expect(stderr).toContain('nowhere.yaml')
  expect(stderr).toContain('there is no such file')
  expect(code).toBe(2)
})
