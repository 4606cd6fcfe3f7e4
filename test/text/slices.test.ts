import { afterEach, expect, test, vi } from 'vitest'
import { createConfigSnapshot } from '../../src/app/config-snapshot.ts'
import { differences } from '../../src/app/reload.ts'
import { forgetSeries } from '../../src/observe/forget-series.ts'
import { createMetrics, startAtZero } from '../../src/observe/metrics.ts'
import { sinkLoader } from '../../src/sink-types.ts'
import { mapInSlices, runInSlices, runSynchronously } from '../../src/text/yielding.ts'
import { loadText } from '../config/load-text.ts'

afterEach(() => vi.restoreAllMocks())

/** A millisecond passes whenever somebody asks for the time. Gives how often the event loop turned while work was done. */
async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => ++now)
  let turns = 0
  let working = true
  const turn = () => {
    turns++
    if (working) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  working = false
  return turns
}

test('items are made in their order, and the loop turns in between', async () => {
  const items = Array.from({ length: 1_000 }, (_, i) => i)
  let made: string[] = []
  const turns = await turnsOf(async () => {
    made = await mapInSlices(items, (item, index) => `${item} ${index}`)
  })
  expect(made).toEqual(items.map((it) => `${it} ${it}`))
  expect(turns).toBeGreaterThan(90)
})

test('steps give the same at once and in slices; what they throw is thrown', async () => {
  function* count(most: number) {
    for (let i = 0; i < most; i++) yield
    if (most === 0) throw new Error('nothing to count')
    return most
  }
  expect(runSynchronously(count(500))).toBe(500)
  expect(await turnsOf(async () => expect(await runInSlices(count(500))).toBe(500))).toBeGreaterThan(40)
  await expect(runInSlices(count(0))).rejects.toThrow('nothing to count')
})

async function manyRules(count: number, prefix: string) {
  const rules = Array.from(
    { length: count },
    (_, i) => `  - { name: ${prefix}-${i}, when: { name: w${i} }, to: a }`,
  )
  const loaded = await loadText(`watch: [Pod]\nsinks: { a: { type: stdout } }\nrules:\n${rules.join('\n')}\n`)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded.config
}

test('each step of putting a thousand rules in force lets the loop turn', async () => {
  const [before, after] = [await manyRules(1, 'b'), await manyRules(1_000, 'a')]
  const parts = { load: sinkLoader(), onMatch() {}, onRuleError() {} }
  const metrics = createMetrics()
  // Limits, conditions, old objects, needs.
  expect(await turnsOf(() => createConfigSnapshot(after, parts))).toBeGreaterThan(4 * 90)
  expect(await turnsOf(() => differences(before, after))).toBeGreaterThan(90)
  expect(await turnsOf(() => startAtZero(metrics, after))).toBeGreaterThan(90)
  const names = after.rules.map(({ name }) => name)
  expect(await turnsOf(() => forgetSeries(metrics.registry, 'rule', names))).toBeGreaterThan(90)
  expect(await metrics.registry.metrics()).not.toContain('rule="a-')
})
