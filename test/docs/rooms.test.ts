import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const entries = readdirSync('src', { withFileTypes: true })
const rooms = entries.filter((it) => it.isDirectory()).map(({ name }) => name)
const files = entries.filter(({ name }) => name.endsWith('.ts')).map(({ name }) => name)

test('src/README.md names every room and every loose file', () => {
  const text = readFileSync('src/README.md', 'utf8')
  const named = [...rooms.map((name) => `${name}/`), ...files]
  expect(named.filter((name) => !text.includes(`\`${name}\``))).toEqual([])
})

test('src/README.md names files that exist', () => {
  const there = globSync('{src,sinks}/**/*.ts')
  const named = [...readFileSync('src/README.md', 'utf8').matchAll(/`(?:\.\.\/)?([a-z/-]+\.ts)`/g)].map(
    ([, it = '']) => it,
  )
  expect(named.length).toBeGreaterThan(50)
  expect(named.filter((it) => !there.some((file) => `/${file}`.endsWith(`/${it}`)))).toEqual([])
})

test('each README of a room is linked from src/README.md, and names files that exist', () => {
  const index = readFileSync('src/README.md', 'utf8')
  const readmes = globSync('src/*/**/README.md')
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

test('test/README.md names every folder of tests, and files and folders that exist', () => {
  const text = readFileSync('test/README.md', 'utf8')
  const folders = readdirSync('test', { withFileTypes: true }).filter((it) => it.isDirectory())
  expect(folders.filter(({ name }) => !new RegExp(`[\`\\s]${name}[\`/\\s]`).test(text))).toEqual([])
  const named = [...text.matchAll(/`((?:[a-z-]+\/)+[a-z-]+)(?:\.ts)?`/g)].map(([, it = '']) => it)
  expect(named.length).toBeGreaterThan(50)
  expect(named.filter((it) => globSync(`test/${it}{,.ts,.test.ts}`).length === 0)).toEqual([])
})

test('src has at most twelve rooms, and four files beside them', () => {
  expect(rooms.length).toBeLessThanOrEqual(12)
  expect(files.length).toBeLessThanOrEqual(4)
})
