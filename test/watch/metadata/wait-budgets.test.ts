import { expect, test } from 'vitest'
import { PATIENCE_MS, WaitBudgets } from '../../../src/watch/metadata/metadata-barrier.ts'

test('a namespace that names what never comes holds up its own changes no longer than once, and comes to rest again', () => {
  const patience = new WaitBudgets()
  expect(patience.leftMs('events', 'shop', 0)).toBe(PATIENCE_MS)
  patience.spend('events', ['shop'], PATIENCE_MS, 0)
  expect(patience.leftMs('events', 'shop', 0)).toBe(50)
  expect(patience.leftMs('events', 'pay', 0)).toBe(PATIENCE_MS)
  expect(patience.leftMs('pods', 'shop', 0)).toBe(PATIENCE_MS)
  expect(patience.leftMs('events', 'shop', 10_000)).toBe(300)
  expect(patience.leftMs('events', 'shop', 600_000)).toBe(PATIENCE_MS)
})

test('one namespace alone never uses up the patience of the watch; many do', () => {
  const patience = new WaitBudgets()
  for (let nowMs = 0; nowMs < 600_000; nowMs += 1_000) {
    patience.spend('events', ['shop'], patience.leftMs('events', 'shop', nowMs), nowMs)
    expect(patience.leftMs('events', 'pay', nowMs)).toBeGreaterThan(1_900)
  }
  for (let i = 0; i < 10; i++)
    patience.spend('events', [`made-up-${i}`], patience.leftMs('events', `made-up-${i}`, 700_000), 700_000)
  expect(patience.leftMs('events', 'pay', 700_000)).toBe(50)
})

test('a clock that goes back gives nothing back, and takes nothing', () => {
  const patience = new WaitBudgets()
  patience.spend('events', ['shop'], 1_500, 3_600_000)
  expect(patience.leftMs('events', 'shop', 0)).toBe(500)
  expect(patience.leftMs('events', 'pay', 0)).toBe(PATIENCE_MS)
})

test('many namespaces are not remembered for ever', () => {
  const patience = new WaitBudgets()
  patience.spend('events', ['shop'], 2_000, 0)
  for (let i = 0; i < 20_000; i++) patience.spend('other', [`n${i}`], 1, 0)
  expect(patience.leftMs('events', 'shop', 0)).toBe(PATIENCE_MS)
})
