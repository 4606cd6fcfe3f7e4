import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { programMain } from '../program.ts'
import { PAGES, textOf } from './documentation.ts'

const known = new Map<string, string>()

/** What `--help` prints for a command. */
function helpOf(...words: string[]): string {
  const key = words.join(' ')
  if (!known.has(key)) {
    const { stdout } = spawnSync(process.execPath, [programMain(), ...words, '--help'], { encoding: 'utf8' })
    known.set(key, stdout)
  }
  return known.get(key) ?? ''
}

const WRITTEN = PAGES.flatMap((page) => {
  const text = textOf(page)
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) => block.split('\n'))
  const inline = [...text.replace(/```[\s\S]*?```/g, '').matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)
  const lines = [...blocks, ...inline].map((line) => line.replace(/ +#.*/, '').trim())
  const commands = lines
    .map((line) => line.replace(/^npm start --/, 'kubeherald'))
    .filter((it) => /^kubeherald\b(?!\.)/.test(it))
  return [...new Set(commands)].map((command) => [page, command] as const)
})

test('the pages show commands', () => {
  expect(WRITTEN.length).toBeGreaterThan(8)
})

/** The command and subcommand that the words begin with, as far as the help knows them. */
function commandIn(words: readonly string[]): string[] {
  const path: string[] = []
  for (const word of words) {
    if (!/^[a-z][a-z-]*$/.test(word) || !new RegExp(`^ {2}${word} `, 'm').test(helpOf(...path))) break
    path.push(word)
  }
  return path
}

test.each(WRITTEN)('%s: %s is a command that there is', (_, command) => {
  const words = command.split(/\s+/).slice(1)
  const path = commandIn(words)
  // Without a command it runs.
  const help = path.length === 0 ? helpOf() + helpOf('run') : helpOf(...path)
  const [next = '--help'] = words.slice(path.length)
  if (!next.startsWith('-'))
    expect(help).toMatch(/^Usage: .*[<[](?:ids?|what|files|tool|object|sink|shell|command)\b/m)
  for (const option of words.filter((word) => word.startsWith('-')))
    expect(help).toMatch(new RegExp(`(^|[ ,])${option}\\b`, 'm'))
})
