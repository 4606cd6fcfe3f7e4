import { expect, test } from 'vitest'
import { type Member, shareOut } from '../../../src/watch/leases/lease-decision.ts'
import { seeded } from '../../seeded-random.ts'
import { Agent, DURATION_MS, FakeLeases, idOf } from './simulation.ts'

const ids = (count: number) => Array.from({ length: count }, (_, i) => `id-${String(i).padStart(3, '0')}`)
const member = (identity: string, wants: readonly string[]): Member => ({ identity, wants: new Set(wants) })

function counts(target: ReadonlyMap<string, string>): Record<string, number> {
  const result: Record<string, number> = {}
  for (const holder of target.values()) result[holder] = (result[holder] ?? 0) + 1
  return result
}

test('each of R members gets floor or ceil of N/R', () => {
  for (const [n, r] of [
    [7, 3],
    [3, 5],
    [100, 7],
    [1, 1],
  ] as const) {
    const members = Array.from({ length: r }, (_, i) => member(`m${i}`, ids(n)))
    const target = shareOut(
      members,
      ids(n).map((id) => ({ id, holder: undefined })),
    )
    const loads = members.map(({ identity }) => counts(target)[identity] ?? 0)
    expect(target.size).toBe(n)
    expect(Math.min(...loads)).toBe(Math.floor(n / r))
    expect(Math.max(...loads)).toBe(Math.ceil(n / r))
  }
})

test('an even share stays where it is, whoever comes first in the alphabet', () => {
  const shares = ids(5).map((id, i) => ({ id, holder: i < 3 ? 'z' : 'a' }))
  const target = shareOut([member('a', ids(5)), member('z', ids(5))], shares)
  expect([...target].sort()).toEqual(shares.map(({ id, holder }) => [id, holder]))
})

test('a newcomer gets its share and not more moves than that', () => {
  const shares = ids(9).map((id, i) => ({ id, holder: i < 5 ? 'a' : 'b' }))
  const target = shareOut(
    ['a', 'b', 'c'].map((it) => member(it, ids(9))),
    shares,
  )
  expect(counts(target)).toEqual({ a: 3, b: 3, c: 3 })
  expect(shares.filter(({ id, holder }) => target.get(id) !== holder)).toHaveLength(3)
})

test('a watch goes only to members that have it in their configuration', () => {
  const shares = ids(4).map((id) => ({ id, holder: 'old' }))
  const members = [member('old', ids(4)), member('new', ['id-003', 'id-004'])]
  const target = shareOut(members, [...shares, { id: 'id-004', holder: undefined }])
  expect(target.get('id-004')).toBe('new')
  expect(target.get('id-003')).toBe('new')
  expect(counts(target)).toEqual({ old: 3, new: 2 })
})

const HOUR_MS = 3_600_000

/** Processes join, die, freeze and leave in any order, each with clocks of its own, and act on what they saw earlier. */
function simulate(seed: number): { api: FakeLeases; agents: Agent[]; sources: number; changes: number } {
  const random = seeded(seed)
  const api = new FakeLeases()
  const sources = Array.from({ length: 1 + Math.floor(random() * 12) }, (_, i) => ({
    key: `k${i}`,
    title: `t${i}`,
  }))
  let agents: Agent[] = []
  const frozen = new Map<Agent, number>()
  let nowMs = 0
  let changes = 0
  let born = 0
  const join = () => {
    agents.push(new Agent(api, `m${born++}`, sources, nowMs, (random() - 0.5) * 10 * HOUR_MS))
  }
  join()

  function disturb(): void {
    changes++
    const one = agents[Math.floor(random() * agents.length)] as Agent
    const kind = Math.floor(random() * 4)
    if (kind === 0 && agents.length < 5) return join()
    if (kind === 1) return void frozen.set(one, nowMs + random() * 60_000)
    if (agents.length === 1) return join()
    agents = agents.filter((it) => it !== one)
    if (kind === 2) one.leave()
  }

  function run(untilMs: number, calm: boolean): void {
    while (nowMs < untilMs) {
      nowMs += Math.floor(random() * 40)
      if (!calm && random() < 0.001) disturb()
      const one = agents[Math.floor(random() * agents.length)] as Agent
      if ((frozen.get(one) ?? 0) <= nowMs) one.step(nowMs, random)
      expectOneKnows(agents, nowMs, seed)
    }
  }

  run(90_000, false)
  frozen.clear()
  run(nowMs + 4 * DURATION_MS, true)
  const settled = api.moves
  run(nowMs + 2 * DURATION_MS, true)
  expect(api.moves, `seed ${seed}: it is not calm`).toBe(settled)
  const held = agents.map((it) => it.holds(nowMs))
  const loads = held.map((it) => it.length)
  expect(held.flat().sort(), `seed ${seed}`).toEqual(sources.map(idOf).sort())
  expect(Math.max(...loads) - Math.min(...loads), `seed ${seed}: ${loads}`).toBeLessThanOrEqual(1)
  return { api, agents, sources: sources.length, changes }
}

function expectOneKnows(agents: readonly Agent[], nowMs: number, seed: number): void {
  const all = agents.flatMap((it) => it.holds(nowMs))
  if (new Set(all).size !== all.length)
    throw new Error(`seed ${seed}: two know that they hold ${all} at ${nowMs}`)
}

test('whatever happens in whatever order, each watch has at most one who knows it, and in the end all are shared evenly', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const { api, sources, changes } = simulate(seed)
    // One change of the members moves each watch once at most; what an old view moved is moved back.
    expect(api.moves, `seed ${seed}: ${changes} changes, ${sources} watches`).toBeLessThanOrEqual(
      sources * (changes + 1) * 2,
    )
  }
})
