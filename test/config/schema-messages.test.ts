import { expect, test } from 'vitest'
import * as z from 'zod'
import { defineSink } from '../../src/sink/index.ts'
import { allSinks } from '../../src/sink-types.ts'
import { loadText } from './load-text.ts'

/** Returns the problems of a sink whose option `key` has this schema and this value. */
async function problemsWith(schema: z.ZodType, value: string): Promise<string[]> {
  const type = defineSink<{ key: unknown }>({
    apiVersion: 1,
    type: 'pager',
    config: z.strictObject({ key: schema }) as never,
    open: async () => ({ deliver: async () => [], close: async () => {} }),
  })
  const text = `watch: [Pod]\nsinks: { a: { type: pager, key: ${value} } }\nrules: [{ name: r, to: a }]\n`
  const loaded = await loadText(text, { sinkTypes: { ...allSinks, pager: async () => type } })
  return loaded.ok ? [] : loaded.problems.map(({ message }) => message)
}

const OWN = ['Invalid key of the service', 'Too small a key', 'Too big a key', 'Unrecognized form of a key']

test.each(OWN)('a message that the author of a schema wrote is shown: %s', async (message) => {
  for (const schema of [
    z.string().regex(/^k-/, message),
    z.string().min(5, message),
    z.string().startsWith('k-', message),
    z.union([z.literal('k-1'), z.literal('k-2')], message),
  ])
    expect(await problemsWith(schema, 'x')).toEqual([`"key": ${message}`])
})

test.each<[string, z.ZodType, string]>([
  ['a pattern', z.string().regex(/^k-/), 'x'],
  ['a beginning', z.string().startsWith('k-'), 'x'],
  ['an address', z.url(), 'x'],
  ['a date', z.iso.datetime(), 'x'],
  ['a number', z.number(), 'x'],
  ['a least length', z.string().min(5), 'x'],
  ['a most length', z.string().max(1), 'xx'],
  ['a multiple', z.number().multipleOf(5), '7'],
  ['a value of several', z.enum(['b', 'c']), 'x'],
  ['one of two types', z.union([z.number(), z.array(z.string())]), 'x'],
  ['a map', z.strictObject({ a: z.string() }), '{ a: b, c: d }'],
  ['a map that a key selects', z.discriminatedUnion('a', [z.object({ a: z.literal('b') })]), '{ a: c }'],
])('a message that zod makes of %s is replaced by ours', async (_, schema, value) => {
  const problems = await problemsWith(schema, value)
  expect(problems).toHaveLength(1)
  expect(problems[0]).not.toMatch(/Invalid|Too |Unrecognized/)
})
