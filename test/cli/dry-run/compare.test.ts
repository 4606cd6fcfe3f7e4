import { expect, test } from 'vitest'
import { createDryRun } from '../../../src/app/dry-run/dry-run.ts'
import { compareRuns, comparisonLines } from '../../../src/cli/dry-run/compare.ts'
import { createPaint } from '../../../src/cli/output/colour.ts'
import type { ClusterEvent } from '../../../src/model/event.ts'
import { sinkLoader } from '../../../src/sink-types.ts'
import { normalise } from '../../../src/watch/decode/normalise.ts'
import { loadText } from '../../config/load-text.ts'
import { SOURCE, scanned } from '../../store/objects.ts'

const START_MS = Date.parse('2026-11-21T09:00:00Z')

/** One ConfigMap after the other, a second apart; MODIFIED where it was there before. */
function happened(...names: string[]): AsyncGenerator<ClusterEvent> {
  return happenedTo(SOURCE, ...names)
}

async function* happenedTo(source: typeof SOURCE, ...names: string[]): AsyncGenerator<ClusterEvent> {
  for (const [i, name] of names.entries()) {
    const object = scanned(name, 100 + i)
    const identity = { uid: object.uid, resourceVersion: object.resourceVersion, labelsJson: '{}' }
    const at = { observedAtMs: START_MS + i * 1_000, synthesized: false }
    const type = names.indexOf(name) < i ? ('MODIFIED' as const) : ('ADDED' as const)
    const transition = { type, namespace: 'default', name, ...identity, ...at, object }
    yield normalise(source, transition, { cluster: 'test', salt: Buffer.from('salt') })
  }
}

async function run(rules: string, watch = '[ConfigMap]') {
  const loaded = await loadText(`
watch: ${watch}
sinks: { chat: { type: stdout, format: message } }
rules: ${rules}`)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return createDryRun({ config: loaded.config, load: sinkLoader() })
}

const OPTIONS = { examples: 2, untilMs: START_MS + 3_600_000 }

async function compared(before: string, after: string, ...names: string[]) {
  return compareRuns(await run(before), await run(after), happened(...names), OPTIONS)
}

test('the same rules in another form differ in nothing', async () => {
  const result = await compared(
    '[{ name: all, to: chat }]',
    '[{ name: all, when: { kind: cm }, to: [chat] }]',
    'a',
    'b',
  )
  expect(result).toMatchObject({ events: 2, total: { more: 0, less: 0, other: 0 }, examples: [] })
  expect(comparisonLines(result, createPaint(false)).at(-1)).toBe('Nothing that is sent differs.')
})

test('what comes, goes and reads otherwise is counted whole, and shown by examples', async () => {
  const result = await compared(
    '[{ name: some, when: { name: "!b*" }, to: chat }]',
    '[{ name: some, when: { name: "!a*" }, to: chat, message: "{{ name }}!" }]',
    ...['a1', 'b1', 'b2', 'b3', 'c1'],
  )
  expect(result.total).toEqual({ more: 3, less: 1, other: 1 })
  expect(result.counts).toEqual([{ sink: 'chat', rule: 'some', before: 2, after: 4 }])
  const lines = comparisonLines(result, createPaint(false))
  expect(lines).toContain('  + 2026-11-21 09:00:01  b1!')
  expect(lines.filter((line) => line.startsWith('  +'))).toHaveLength(2)
  expect(lines).toContain('  ~ 2026-11-21 09:00:04  c1!')
  expect(lines).toContain('    was: ConfigMap default/c1 was created')
})

test('events that no entry of watch selects are not sent', async () => {
  const all = '[{ name: all, to: chat }]'
  const other = '[{ kind: ConfigMap, namespaces: [shop] }]'
  const result = await compareRuns(await run(all), await run(all, other), happened('a', 'b'), OPTIONS)
  expect(result.total).toEqual({ more: 0, less: 2, other: 0 })
  const both = await compareRuns(await run(all, other), await run(all, other), happened('a'), OPTIONS)
  expect(both).toMatchObject({ events: 1, total: { more: 0, less: 0, other: 0 }, counts: [] })
  expect([result.unwatched, both.unwatched]).toEqual([{}, { ConfigMap: 1 }])
})

test('a custom resource is uncertain if no entry is for it, and one that selects nothing may name it', async () => {
  const resource = { ...SOURCE.resource, group: 'example.com', kind: 'Widget', plural: 'widgets' }
  const uncertain = async (before: string, after = before, of = resource) => {
    const [first, second] = [await run(RULES, before), await run(RULES, after)]
    return (await compareRuns(first, second, happenedTo({ ...SOURCE, resource: of }, 'a'), OPTIONS)).uncertain
  }
  const RULES = '[{ name: all, to: chat }]'
  expect(await uncertain('[ConfigMap, thingamajigs]')).toEqual(['Widget'])
  expect(await uncertain('[ConfigMap]', '[thingamajigs]')).toEqual(['Widget'])
  expect(await uncertain('[widgets, thingamajigs]', '[thingamajigs]')).toEqual([])
  expect(await uncertain('[{ kind: Widget, namespaces: [shop] }, thingamajigs]')).toEqual([])
  expect(await uncertain('[ConfigMap]')).toEqual([])
  expect(await uncertain('[Secret, thingamajigs]', undefined, SOURCE.resource)).toEqual([])
})

test('a condition that moves from the rules to watch is no difference', async () => {
  const before = await run('[{ name: all, when: { namespace: shop }, to: chat }]')
  const after = await run('[{ name: all, to: chat }]', '[{ kind: ConfigMap, namespaces: [shop] }]')
  expect((await compareRuns(before, after, happened('a'), OPTIONS)).total.more).toBe(0)
})

test('limits count: digests of the new rules stand for what came one by one', async () => {
  const result = await compared(
    '[{ name: all, to: chat }]',
    '[{ name: all, to: chat, group: { by: namespace, wait: 10s } }]',
    ...['a', 'b', 'c'],
  )
  expect(result.total).toEqual({ more: 1, less: 3, other: 0 })
  expect(result.examples.find(({ kind }) => kind === 'more')?.title).toMatch(
    /^3 × ConfigMap created in default/,
  )
})

test('what a state that waited sends is compared with its event, whatever the rule is called', async () => {
  const added = (name: string, more: string) =>
    `{ name: ${name}, when: { type: ADDED }, to: chat, message: "{{ name }}"${more} }`
  const held = added('held', ', for: 5m')
  const total = async (before: string, after: string) =>
    (await compared(`[${before}]`, `[${after}]`, 'a', 'b')).total
  expect(await total(held, added('renamed', ', for: 5m'))).toEqual({ more: 0, less: 0, other: 0 })
  expect(await total(added('held', ''), held)).toEqual({ more: 0, less: 0, other: 0 })
  // A rule that sends the newest event of the state itself is another matter, also where the other one is renamed.
  const modified = '{ name: modified, when: { type: MODIFIED }, to: chat }'
  for (const kept of [held, added('renamed', ', for: 5m')]) {
    const without = await compared(`[${held}, ${modified}]`, `[${kept}]`, 'a', 'a')
    expect(without).toMatchObject({ total: { more: 0, less: 1, other: 0 }, examples: [{ rule: 'modified' }] })
  }
})

test('hostile texts are safe on a terminal', async () => {
  const hostile = 'x\u001b[2J\u202e'
  const result = await compared(
    '[{ name: none, when: { name: nobody }, to: chat }]',
    `[{ name: all, to: chat, message: ${JSON.stringify(hostile)} }]`,
    'a',
  )
  expect(comparisonLines(result, createPaint(false)).join('')).not.toMatch(/[\u001b\u202e]/)
})
