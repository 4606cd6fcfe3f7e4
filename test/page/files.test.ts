import { globSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { pageFiles } from '../../src/observe/server/page-files.ts'

/** The most that a browser loads, compressed. */
const MAX_BYTES = 60_000

test('the page is one document, one script and one style, at most 60 KB compressed', async () => {
  const files = (await pageFiles()) ?? new Map()
  expect([...files.keys()].map((path) => path.replace(/-[0-9A-Z]{8}\./, '-#.')).toSorted()).toEqual([
    '/assets/page-#.css',
    '/assets/page-#.js',
    '/index.html',
  ])
  const bytes = [...files.values()].reduce((sum, { gzipped }) => sum + gzipped.length, 0)
  expect(bytes).toBeLessThanOrEqual(MAX_BYTES)
  for (const { body, gzipped, etag } of files.values()) {
    expect(gunzipSync(gzipped).equals(body)).toBe(true)
    expect(etag).toMatch(/^"[\w-]{22}"$/)
  }
})

test('the document has no inline code and no address elsewhere, and names both files', async () => {
  const files = (await pageFiles()) ?? new Map()
  const html = String(files.get('/index.html')?.body)
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:/)
  const named = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((it) => it[1])
  expect(named.filter((it) => it !== 'data:,').toSorted()).toEqual(
    [...files.keys()].filter((it) => it !== '/index.html').toSorted(),
  )
})

test('no source of the page puts text into a document as markup', () => {
  const sources = globSync('src/observe/page/**/*.{ts,tsx}')
  expect(sources.length).toBeGreaterThan(20)
  const markup = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function\(/i
  expect(sources.filter((file) => markup.test(readFileSync(file, 'utf8')))).toEqual([])
})
