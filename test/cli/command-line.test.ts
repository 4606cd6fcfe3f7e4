import { expect, test } from 'vitest'
import { version } from '../../src/version.ts'
import { openDesk } from './cli.ts'

test('a mistyped command is named, with the one that is near', async () => {
  using desk = openDesk()
  const { code, stderr } = await desk.run('chek')
  expect(code).toBe(2)
  expect(stderr).toContain("unknown command 'chek'")
  expect(stderr).toContain('Did you mean check?')
})

test('the hint for a command behind its options has the right order', async () => {
  using desk = openDesk()
  const { code, stderr } = await desk.run('--config', 'prod.yaml', 'status')
  expect(code).toBe(2)
  expect(stderr).toContain('kubeherald status ')
  expect((await desk.run('run', 'status')).stderr).not.toContain('kubeherald status ')
})

test('help explains the commands of a group', async () => {
  using desk = openDesk()
  const asked = await desk.run('silence', 'add', '--help')
  expect(asked.stdout).toContain('--match')
  expect(await desk.run('help', 'silence', 'add')).toEqual(asked)
  const { code, stderr } = await desk.run('help', 'silence', 'ad')
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining('\'silence ad\'; did you mean "add"'),
  })
})

test('help for an unknown command names it', async () => {
  using desk = openDesk()
  const { code, stderr, stdout } = await desk.run('help', 'statsu')
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toBe('kubeherald: unknown command \'statsu\'; did you mean "status"?\n')
})

test.each(['-v', '-V', '--version'])('%s prints the version', async (option) => {
  using desk = openDesk()
  expect(await desk.run(option)).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
})

test('options without a command are those of run', async () => {
  using desk = openDesk()
  const { code, stderr } = await desk.run('--log-level', 'loud')
  expect(code).toBe(2)
  expect(stderr).toContain('"loud" is not a log level')
})

test('demo says what its starter prints, and what it leaves aside', async () => {
  using desk = openDesk()
  const { stdout } = await desk.run('demo', '--help')
  const words = stdout.replace(/\s+/g, ' ')
  expect(words).toContain('default: a starter that prints a selection of events')
  expect(words).toContain(
    'no configuration but the one of -c; of that it leaves redis, cluster and kubernetes aside',
  )
})
