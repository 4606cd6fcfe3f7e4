import { existsSync, mkdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startProgram } from '../servers/process.ts'
import { waitFor } from '../wait-for.ts'
import { openDesk } from './cli.ts'

const CACHE = new URL('../../deploy/local/cache.mjs', import.meta.url).href

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
