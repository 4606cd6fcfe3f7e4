import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const entries = readdirSync('src', { withFileTypes: true })
const rooms = entries.filter((it) => it.isDirectory()).map(({ name }) => name)
const files = entries.filter(({ name }) => name.endsWith('.ts')).map(({ name }) => name)

test('src/README.md names every room and every file beside them', () => {
  const text = readFileSync('src/README.md', 'utf8')
  const named = [...rooms.map((name) => `${name}/`), ...files]
  expect(named.filter((name) => !text.includes(`\`${name}\``))).toEqual([])
})

test('a room that says what it is for is linked from src/README.md, and names files that are there', () => {
  const index = readFileSync('src/README.md', 'utf8')
  const readmes = globSync('src/*/README.md')
  expect(readmes.length).toBeGreaterThan(10)
  expect(readmes.filter((file) => !index.includes(`(${file.slice('src/'.length)})`))).toEqual([])
  const gone = readmes.flatMap((file) => {
    const folder = dirname(file)
    const there = new Set(globSync(`${folder}/**/*.ts`).map((it) => basename(it)))
    const named = [...readFileSync(file, 'utf8').matchAll(/`((?:[a-z-]+\/)*[a-z-]+\.ts)`/g)].map(
      ([, it = '']) => it,
    )
    const isThere = (it: string) => there.has(basename(it)) || existsSync(join('src', it))
    return named.filter((it) => !isThere(it)).map((it) => `${file}: ${it}`)
  })
  expect(gone).toEqual([])
})

test('the linter has a rule for what each room may import', () => {
  const { overrides } = JSON.parse(readFileSync('biome.json', 'utf8')) as {
    overrides: { includes: string[]; linter: { rules: { style?: { noRestrictedImports?: object } } } }[]
  }
  const ruled = new Set(
    overrides
      .filter(({ linter }) => linter.rules.style?.noRestrictedImports)
      .flatMap(({ includes }) => includes),
  )
  // Commands join what they need.
  const others = rooms.filter((name) => name !== 'commands')
  expect(others.filter((name) => !ruled.has(`src/${name}/**`))).toEqual([])
})
