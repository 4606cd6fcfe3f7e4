import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { wordsOf } from '../../src/render/words/index.ts'
import { toldOf, type WordsFile, wordsAsText } from './words-cases.ts'

const FIXTURES = new URL('../fixtures/words/', import.meta.url)

describe('what people are told, without any template', () => {
  test.each(readdirSync(FIXTURES))('%s', async (name) => {
    const file = parse(readFileSync(new URL(name, FIXTURES), 'utf8')) as WordsFile
    const told = file.cases.map((it) => wordsAsText(it.case, wordsOf(toldOf(file, it))))
    await expect(told.join('\n')).toMatchFileSnapshot(`../golden/words/${name.replace('.yaml', '.txt')}`)
  })
})
