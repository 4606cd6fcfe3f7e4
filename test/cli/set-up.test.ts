import { chmodSync, existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startProgram } from '../servers/process.ts'
import { waitFor } from '../wait-for.ts'
import { openDesk } from './cli.ts'

const CACHE = new URL('../../deploy/local/cache.mjs', import.meta.url).href

const SETUP = new URL('../../deploy/local/setup.mjs', import.meta.url).href

/** A program that fills a folder, as the set-up fills those of Kafka and kube-apiserver. */
function filler(folder: string): string {
  return `
import { fillFolder } from ${JSON.stringify(CACHE)}
const say = (line) => console.log(line)
await fillFolder(${JSON.stringify(folder)}, { say, doing: 'fetches it' }, async () => say('filled'))
`
}

test('a folder that another set-up fills is waited for', async () => {
  using desk = openDesk()
  const folder = join(desk.dir, 'cache')
  const lock = join(folder, '.lock')
  mkdirSync(lock, { recursive: true })
  const program = startProgram(process.execPath, [desk.write('fill.mjs', filler(folder))], { env: desk.env })
  await waitFor(() => program.output().includes('waiting'), { what: () => program.output() })
  expect(program.output()).toBe('another set-up fetches it; waiting for it …\n')
  utimesSync(lock, 0, 0)
  await waitFor(() => program.output().includes('filled'), { what: () => program.output() })
  await waitFor(() => !existsSync(lock), { what: 'the lock to be gone' })
})

test('a folder whose set-up was killed is filled at once, without a word of waiting', async () => {
  using desk = openDesk()
  const folder = join(desk.dir, 'cache')
  mkdirSync(join(folder, '.lock'), { recursive: true })
  const minutesAgo = new Date(Date.now() - 3 * 60_000)
  utimesSync(join(folder, '.lock'), minutesAgo, minutesAgo)
  const program = startProgram(process.execPath, [desk.write('fill.mjs', filler(folder))], { env: desk.env })
  await waitFor(() => program.output() === 'filled\n', { what: () => program.output() })
})

/** What the set-up says of Kafka on a Debian where root has `apt-get` and nothing else, with the jars in the cache. */
async function prepareKafka(aptGet: string, env: NodeJS.ProcessEnv = {}): Promise<string[]> {
  using desk = openDesk()
  const bin = join(desk.dir, 'bin')
  const jars = join(desk.dir, 'kubeherald', 'kafka-4.1.1', 'lib')
  mkdirSync(bin)
  mkdirSync(jars, { recursive: true })
  writeFileSync(join(jars, 'kafka_2.13-4.1.1.jar'), '')
  writeFileSync(join(bin, 'apt-get'), `#!/bin/sh\n${aptGet}\n`)
  chmodSync(join(bin, 'apt-get'), 0o755)
  const script = `
import { prepareKafka } from ${JSON.stringify(SETUP)}
process.getuid = () => 0
await prepareKafka()
console.log('ended')
`
  const program = startProgram(process.execPath, [desk.write('prepare.mjs', script)], {
    env: { PATH: bin, XDG_CACHE_HOME: desk.dir, BIN: bin, ...env },
  })
  await waitFor(() => program.output().endsWith('ended\n'), { what: () => program.output() })
  return program.output().trim().split('\n').slice(0, -1)
}

test('root on Debian gets the Java and the kcat that Kafka needs, in one installation', async () => {
  const install = `case "$1" in install) for it in java kcat; do : > "$BIN/$it"; /bin/chmod +x "$BIN/$it"; done;; esac`
  expect(await prepareKafka(install)).toEqual(['set-up: installing default-jre-headless kcat (apt-get) …'])
})

test('what only some tests need and cannot be installed stops nothing', async () => {
  const said = [
    'set-up: installing default-jre-headless kcat (apt-get) …',
    'set-up: apt-get update failed (exit code 100)',
  ]
  expect(await prepareKafka('exit 100')).toEqual([
    ...said,
    'set-up: there is no java on this machine. Suites that need Kafka are skipped',
  ])
  expect(await prepareKafka('exit 100', { CI: 'true' })).toEqual([
    ...said,
    'set-up: there is no java on this machine. Suites that need Kafka fail, because CI is set',
  ])
})
