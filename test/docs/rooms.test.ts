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

test('src/README.md states how many files an Event opens: as many as its table names, and no more than before', () => {
  const text = readFileSync('src/README.md', 'utf8')
  const [, section = ''] = /^## One Event, file by file\n([\s\S]*?)^## /m.exec(text) ?? []
  const rows = section.split('\n').map((row) => row.split('|'))
  const every = new Set(rows.flatMap(([, , cell = '']) => filesIn(cell)))
  const some = new Set(rows.flatMap(([, , , cell = '']) => filesIn(cell))).difference(every)
  expect([...every, ...some].filter((file) => !existsSync(join('src', file)))).toEqual([])
  const stated = /(\d+) files to read for every Event, and (\d+) more for some/.exec(section)
  expect(stated?.slice(1).map(Number)).toEqual([every.size, some.size])
  // Lower them with each change that needs fewer: the aim is 40 for every Event.
  expect(every.size).toBeLessThanOrEqual(45)
  expect(some.size).toBeLessThanOrEqual(6)
})

/** Returns the files that a cell names; `folder/` applies to the names without a folder that follow it. */
function filesIn(cell: string): string[] {
  let folder = ''
  return [...cell.matchAll(/`([./a-z-]+(?:\/|\.ts))`/g)].flatMap(([, name = '']) => {
    if (!name.endsWith('/')) return [name.includes('/') ? name : folder + name]
    folder = name
    return []
  })
}

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
