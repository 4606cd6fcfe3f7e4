import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { summarize } from '../../src/render/summary/index.ts'
import { type SummaryFile, summaryAsText, summaryOf } from './summary-cases.ts'

const FIXTURES = new URL('../fixtures/summaries/', import.meta.url)

describe('what people are told, without any template', () => {
  test.each(readdirSync(FIXTURES))('%s', async (name) => {
    const file = parse(readFileSync(new URL(name, FIXTURES), 'utf8')) as SummaryFile
    const input = file.cases.map((it) => summaryAsText(it.case, summarize(summaryOf(file, it))))
    await expect(input.join('\n')).toMatchFileSnapshot(`../golden/summaries/${name.replace('.yaml', '.txt')}`)
  })
})
