import { describe, expect, test } from 'vitest'
import { FILTERS } from '../../../src/sink/template/filters.ts'
import { leastCpuMs } from '../../cpu-time.ts'
import { rendered } from './subject.ts'

/** What rendering may cost is about 50 ms; a machine under load and code that is not compiled yet take longer. */
const MAX_CPU_MS = 500
const SIZE = 250_000

function nested(depth: number): unknown {
  let value: unknown = 'x'
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { a: value }
  return value
}

const HOSTILE: Readonly<Record<string, unknown>> = {
  'a text': 'a'.repeat(SIZE),
  'blanks and a letter': `${' '.repeat(SIZE)}x${' '.repeat(SIZE)}`,
  escapes: '<"\\&\u0001'.repeat(SIZE / 5),
  'a list of texts': Array.from({ length: 1_000 }, (_, i) => `${'a'.repeat(1_000)}${i}`),
  'a list of maps': Array.from({ length: SIZE / 20 }, (_, i) => ({ name: `n-${i}` })),
  'a map of many keys': Object.fromEntries(
    Array.from({ length: SIZE / 20 }, (_, i) => [`key-${i}`, 'value']),
  ),
  'a map of a deep one': { a: nested(4_000) },
  'a map of texts with line breaks': { name: 'a\n'.repeat(SIZE / 2) },
}

const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  append: ['object.v', '"x"'],
  prepend: ['object.v'],
  split: ['""', '"a"', '" "', 'object.v'],
  replace: ['"a", "b"', '"", "b"', 'object.v, "b"', '"a", object.v'],
  replace_first: ['"a", object.v', 'object.v, "b"'],
  replace_last: ['"a", object.v', 'object.v, "b"'],
  remove: ['"a"', '""', 'object.v'],
  remove_first: ['"a"', 'object.v'],
  remove_last: ['"a"', 'object.v'],
  date: ['"%Y"', 'object.v'],
  truncate: ['10', '900000', '10, object.v'],
  truncatewords: ['2', '400000', '2, object.v'],
  shorten: ['10', '900000'],
  slice: ['0, 900000', '-5, 2'],
  join: ['","', 'object.v'],
  json: ['', '10'],
  concat: ['object.v'],
  default: ['object.v'],
  sort: ['', '"name"', 'object.v'],
  sort_natural: ['', '"name"'],
  sum: ['', '"name"', 'object.v'],
  map: ['"name"', 'object.v'],
  where: ['"name", "n-1"', '"name"', 'object.v, object.v'],
  reject: ['"name", "n-1"'],
  find: ['"name", "none"', 'object.v, object.v'],
  find_index: ['"name", "none"'],
  has: ['"name", "none"'],
  group_by: ['"name"'],
  uniq: ['', '"name"'],
  compact: ['', '"name"'],
}

function render(template: string, value: unknown): void {
  try {
    rendered(template, {}, { object: { v: value } })
  } catch (error) {
    if (error instanceof RangeError) throw error
  }
}

/** These get all else as JSON, as "append" does, which stands for them. */
const OF_TEXT =
  'prepend capitalize downcase upcase strip lstrip rstrip strip_newlines squish normalize_whitespace remove remove_first remove_last replace replace_first replace_last split truncate truncatewords url_encode cgi_escape uri_escape slugify base64_encode sha256 date'.split(
    ' ',
  )
const OF_NUMBERS = 'abs at_least at_most ceil divided_by floor minus modulo plus round times'.split(' ')

function valuesFor(filter: string): string[] {
  if (OF_NUMBERS.includes(filter)) return ['a text']
  return Object.keys(HOSTILE).filter((it) => !OF_TEXT.includes(filter) || typeof HOSTILE[it] === 'string')
}

describe.each(FILTERS)('the filter %s holds the event loop no longer than the budget', (filter) => {
  test.each(valuesFor(filter))('with %s', async (name) => {
    const value = HOSTILE[name]
    for (const args of ARGUMENTS[filter] ?? ['']) {
      const call = `${filter}${args === '' ? '' : `: ${args}`}`
      // What a filter returns need not be written, so only the filter's own costs are charged.
      const template = `{% for i in (1..2000) %}{% assign x = object.v | ${call} %}{% endfor %}`
      const cpuMs = await leastCpuMs(MAX_CPU_MS, () => render(template, value))
      expect(cpuMs, template).toBeLessThan(MAX_CPU_MS)
    }
  })
})

test('what a list is joined with is charged before the text is made', () => {
  const list = Array.from({ length: 20_000 }, () => 'a')
  const object = { list, between: 'b'.repeat(20_000) }
  rendered('{{ object.list | join: "," }}', {}, { object })
  const before = process.resourceUsage().maxRSS
  expect(() => rendered('{{ object.list | join: object.between }}', {}, { object })).toThrow('more than')
  expect((process.resourceUsage().maxRSS - before) / 1024).toBeLessThan(100)
})
