import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** Vague words for which the terms of `docs/concepts.md` and `src/README.md` are used, in identifiers, comments, messages and documentation. */
const AVOIDED = [
  'tell, tells, told, telling, tellings, teller, tellers',
  'say, says, saying, people, words, stands, lies, anew, beside, meant, slip, slips, doubt, doubts, wish, wishes',
  'fate, fates, purse, purses, odd, oddly, whoever',
  'becomes of, the line, a look, in turn, at once',
].flatMap((list) => list.split(', '))

/** How often each folder still uses them: these numbers only ever fall. */
const LEFT: Readonly<Record<string, number>> = {
  '.': 1,
  'src/rules': 1,
  'src/sink': 5,
  test: 1867,
}

const ROOT = new URL('../../', import.meta.url).pathname
const FILES = [
  'src/**/*.{ts,tsx,md}',
  'sinks/**/*.{ts,md}',
  'docs/**/*.md',
  'deploy/**/*.{md,yaml,tpl,txt}',
  'test/**/*.ts',
  '*.md',
]
/** The second has the words themselves. */
const NOT_READ = ['CHANGELOG.md', 'test/docs/words.test.ts', '**/node_modules/**']
const pattern = new RegExp(`\\b(?:${AVOIDED.join('|').replaceAll(' ', '\\s+')})\\b`, 'g')

test('no folder uses more of the words to avoid than it did', () => {
  const found = occurrences()
  const grown = [...found].flatMap(([folder, places]) =>
    places.length > (LEFT[folder] ?? 0)
      ? [`${folder}: ${places.length}, not ${LEFT[folder] ?? 0}, such as ${places.slice(-20).join(' ')}`]
      : [],
  )
  const counts = [...found].map(([folder, places]) => `  '${folder}': ${places.length},`).toSorted()
  expect(grown, counts.join('\n')).toEqual([])
})

test('the words of camel-case names are read, longer words are not', () => {
  expect([...wordsToAvoid('toldBy TELL_ALL wasTold retells sayings people’s a look')]).toEqual([
    ...['told', 'tell', 'told', 'people', 'a look'],
  ])
})

/** Returns for each folder where the words are, as `file:line:word`. */
function occurrences(): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const file of globSync(FILES, { cwd: ROOT, exclude: NOT_READ })) {
    const text = readFileSync(ROOT + file, 'utf8')
    const places = text
      .split('\n')
      .flatMap((line, i) => [...wordsToAvoid(line)].map((word) => `${file}:${i + 1}:${word}`))
    if (places.length === 0) continue
    const folder = folderOf(file)
    found.set(folder, [...(found.get(folder) ?? []), ...places])
  }
  return found
}

/** Tests are counted together. */
function folderOf(file: string): string {
  if (file.startsWith('test/')) return 'test'
  return file.split('/').slice(0, -1).slice(0, 2).join('/') || '.'
}

function wordsToAvoid(text: string): string[] {
  const separated = text
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()
  return separated.match(pattern) ?? []
}
