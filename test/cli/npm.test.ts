import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { startProgram } from '../servers/process.ts'
import { waitFor } from '../wait-for.ts'
import { openDesk } from './cli.ts'

const ROOT = new URL('../../', import.meta.url).pathname
const SETUP = new URL('../../deploy/local/setup.mjs', import.meta.url).href

/** Ends 200 ms after a signal, with its exit code. */
const PATIENT = `
for (const [signal, code] of [['SIGINT', 3], ['SIGTERM', 4], ['SIGHUP', 5]])
  process.on(signal, () => setTimeout(() => { console.log('ended by', signal); process.exit(code) }, 200))
setInterval(() => {}, 1_000)
console.log('waiting')
`

test.each([
  ['SIGINT', 3],
  ['SIGTERM', 4],
  ['SIGHUP', 5],
] as const)('%s goes on to the program, whose end is waited for', async (signal, code) => {
  using desk = openDesk()
  const child = desk.write('patient.mjs', PATIENT)
  const start = desk.write(
    'start.mjs',
    `import { runOnNode24 } from ${JSON.stringify(SETUP)}
const code = await runOnNode24([${JSON.stringify(child)}])
console.log('exit code', code)`,
  )
  const program = startProgram(process.execPath, [start], { env: desk.env })
  await waitFor(() => program.output().includes('waiting'), { what: () => program.output() })
  await program.end(signal)
  expect(program.output()).toBe(`waiting\nended by ${signal}\nexit code ${code}\n`)
})

test('SIGTERM to npm ends what its script started', async () => {
  using desk = openDesk()
  const child = desk.write('patient.mjs', PATIENT)
  const script = manifest.scripts.start.replace('deploy/local/start.mjs', JSON.stringify(child))
  writeFileSync(
    join(desk.dir, 'work', 'package.json'),
    JSON.stringify({ name: 'clone', scripts: { start: script } }),
  )
  const npm = startProgram('npm', ['start'], { env: desk.env, cwd: join(desk.dir, 'work') })
  await waitFor(() => npm.output().includes('waiting'), { what: () => npm.output() })
  await npm.end('SIGTERM')
  await waitFor(() => npm.output().includes('ended by SIGTERM'), {
    timeoutMs: 3_000,
    what: () => npm.output(),
  })
})

/** A clone of the repository whose set-up is done, in a folder of its own. */
function cloneInto(dir: string): string {
  const clone = join(dir, 'clone')
  mkdirSync(join(clone, 'node_modules'), { recursive: true })
  for (const name of ['package.json', 'package-lock.json', 'deploy/local', 'deploy/build'])
    cpSync(join(ROOT, name), join(clone, name), { recursive: true })
  for (const name of ['src', 'sinks', 'node_modules/node']) symlinkSync(join(ROOT, name), join(clone, name))
  const lock = createHash('sha256').update(readFileSync(join(clone, 'package-lock.json')))
  writeFileSync(join(clone, 'node_modules/.kubeherald-setup'), lock.digest('hex'))
  return clone
}

test('npm start in a clone, with neither a cluster nor a configuration, tells what happens in a demo', async () => {
  using desk = openDesk()
  const npm = startProgram('sh', ['-c', 'exec npm start'], { env: desk.env, cwd: cloneInto(desk.dir) })
  await waitFor(() => npm.output().includes('"source":"/clusters/demo"'), { what: () => npm.output() })
  expect(npm.output()).not.toContain('set-up:')
  await npm.end('SIGTERM')
  await waitFor(() => npm.output().includes('kubeherald stopped'), { what: () => npm.output() })
})
