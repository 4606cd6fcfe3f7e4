import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
// @ts-expect-error a script without types
import { pictures } from '../../docs/look/messages.mjs'
// @ts-expect-error a script without types
import { picture } from '../../docs/look/picture.mjs'
import { openDesk } from '../cli/cli.ts'
import { waitFor } from '../wait-for.ts'

const ROOT = new URL('../../', import.meta.url)
const LOOK = readFileSync(new URL('docs/look/look.txt', ROOT), 'utf8')

test('the picture of the README is made from its text', () => {
  expect(readFileSync(new URL('docs/look/look.svg', ROOT), 'utf8')).toBe(picture(LOOK))
})

test.each(Object.entries<string>(pictures()))('%s is drawn from what the sink sends', (name, svg) => {
  expect(readFileSync(new URL(`docs/look/${name}`, ROOT), 'utf8')).toBe(svg)
})

test('the demo prints what the picture shows', async () => {
  const [, config = ''] =
    /```yaml\n(# try\.yaml\n[\s\S]*?)```/.exec(readFileSync(new URL('README.md', ROOT), 'utf8')) ?? []
  using desk = openDesk()
  const program = desk.start('demo', '-c', desk.write('try.yaml', `${config}server: false\n`))
  const awaited = LOOK.split('\n').slice(1).filter(Boolean).map(pattern)
  const missing = () => awaited.filter((line) => !line.test(program.output()))
  await waitFor(() => missing().length === 0, {
    timeoutMs: 80_000,
    what: () => `${missing().join('\n')}\nin\n${program.output()}`,
  })
  await program.end('SIGINT')
})

/** No two days are alike: other workloads, versions and names of pods. … stands for anything. */
function pattern(line: string): RegExp {
  const escaped = line.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const day = escaped
    .replaceAll(/\b\d+/g, '\\d+')
    .replaceAll(/\b(shop|pay|storefront|checkout)\b/g, '[a-z-]+')
    .replaceAll('nm9tfjpmtp-bg4kr', '[a-z0-9]+-[a-z0-9]+')
    .replaceAll('…', '.*')
  return new RegExp(day)
}
