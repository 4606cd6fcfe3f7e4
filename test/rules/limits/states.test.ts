import { expect, test } from 'vitest'
import type { LimitOutcome, LimitStates, Limits } from '../../../src/model/limit.ts'
import { createLimits } from '../../../src/rules/limits/limits.ts'
import { DATABASE } from '../events.ts'
import {
  type Bed,
  balances,
  inShort,
  limitedOf,
  limitsIn,
  openBed,
  openReloads,
  START_MS,
  type Written,
} from './bed.ts'

const MINUTE_MS = 60_000

test('what a group collected is told, also when its rule is gone', () => {
  const bed = openReloads({ r: { group: { by: 'rule' } } })
  bed.apply({ at: 0 })
  bed.apply({ at: 1 })
  bed.reload({})
  expect(bed.until(999)).toEqual(['30 digest of 2'])
  expect(bed.memory.counts().get('r')).toMatchObject({ matched: 2, digested: 2, waiting: 0 })
  expect(bed.memory.size).toBe(0)
})

test('what has not lasted yet is gone with its rule', () => {
  const bed = openReloads({ r: { for: '2m' } })
  bed.apply({ at: 0 })
  bed.reload({ r: { throttle: { every: '1m' } } })
  expect(bed.until(999)).toEqual([])
  expect(bed.memory.counts().get('r')).toMatchObject({ matched: 1, suppressed: { gone: 1 }, waiting: 0 })
  expect(bed.memory.size).toBe(0)
})

test('an object that waits is gone when its rule loses the kind, and waits on if it keeps it', () => {
  const bed = openReloads({ r: { for: '2m', when: { kind: ['Pod', 'Node'] } } })
  bed.apply({ at: 0 })
  bed.reload({ r: { for: '2m', when: { kind: 'Node' } } })
  expect(bed.until(999)).toEqual([])
  expect(bed.memory.counts().get('r')).toMatchObject({ matched: 1, suppressed: { gone: 1 }, waiting: 0 })
  expect(bed.memory.size).toBe(0)
  const kept = openReloads({ r: { for: '2m', when: { kind: ['Pod', 'Node'] } } })
  kept.apply({ at: 0 })
  kept.reload({ r: { for: '2m', when: { kind: 'pods' } } })
  expect(kept.until(999)).toEqual(['120 web'])
})

test.each(['stable.example.com/v1/Database', 'databases.v1.stable.example.com'])(
  'an object that waits is the same in another version of its kind: %s',
  (kind) => {
    const bed = openReloads({ r: { for: '2m', when: { kind: 'stable.example.com/v1beta1/Database' } } })
    bed.apply({ at: 0, resource: DATABASE })
    bed.reload({ r: { for: '2m', when: { kind } } })
    expect(bed.until(999)).toEqual(['120 web'])
  },
)

test('an object that waits is gone when its rule excludes the kind, whatever versions it names of others', () => {
  const bed = openReloads({ r: { for: '2m', when: { kind: ['Pod', 'Node'] } } })
  bed.apply({ at: 0 })
  bed.reload({
    r: { for: '2m', when: { kind: ['!v1/Pod', '!widgets.example.com', '!stable.example.com/v2/Pod'] } },
  })
  expect(bed.until(999)).toEqual([])
})

test('what waits goes by the new times of its rule', () => {
  const bed = openReloads({ r: { for: '2m', resolve: true } })
  bed.apply({ at: 0 })
  bed.reload({ r: { for: '5m', throttle: { every: '1m' }, group: {} } })
  expect(bed.until(299)).toEqual([])
  expect(bed.until(999)).toEqual(['300 web'])
  const quiet = openReloads({ r: { resolve: { after: '1m' } } })
  quiet.apply({ at: 0 })
  quiet.reload({ r: { resolve: { after: '2m' } } })
  expect(quiet.until(999)).toEqual(['120 web quiet'])
})

test('a rule that no longer tells the end forgets what it followed', () => {
  const bed = openReloads({ r: { resolve: true } })
  bed.apply({ at: 0 })
  bed.reload({ r: { for: '1m' } })
  expect(bed.apply({ at: 5, holds: false })).toEqual([])
  expect(bed.memory.size).toBe(0)
})

test.each([
  ['is gone', {}],
  ['no longer resolves', { r: { throttle: { every: '1s' } } }],
])('an open incident whose rule %s ends: a pager closes it', (_, rules: Record<string, Written>) => {
  const bed = openReloads({ r: { resolve: { after: '1m' } } })
  expect(bed.apply({ at: 0 })).toEqual(['web'])
  bed.reload(rules)
  const ends = bed.memory.advance(START_MS + 999_000).flatMap(({ outcome }) => outcome.deliveries)
  const [since, at] = [START_MS, START_MS + MINUTE_MS].map((ms) => new Date(ms).toISOString())
  expect(ends.map(({ notice }) => notice)).toMatchObject([{ kind: 'resolved', since, at, why: 'unwatched' }])
  expect(bed.counts()).toEqual({ matched: 1, sent: 1, notices: 1 })
  expect(bed.memory.size).toBe(0)
})

test('what waits in a state of another version, or in none that can be read, is counted as gone', () => {
  const limits = createLimits([{ name: 'r', ...limitsIn({ group: { by: 'rule' } }) }])
  const [key = ''] = limits.keysOf([limitedOf({ at: 0 })]).shared
  const stored = (text: string): LimitStates => ({
    shared: (it) => (it === key ? text : undefined),
    own: () => undefined,
  })
  const apply = (text: string) => limits.apply([limitedOf({ at: 0 })], stored(text), START_MS)
  for (const v of [2, 'x']) {
    const counts = apply(JSON.stringify({ v, rule: 'r', waiting: 3 })).rules.get('r')
    expect(counts).toMatchObject({ matched: 1, waiting: -2, suppressed: { gone: 3 } })
  }
  for (const text of ['', '{', 'null', '[]', '7', '{"v":1,"limit":"constructor","rule":"r","waiting":0}'])
    expect(apply(text).rules.get('r')).toMatchObject({ matched: 1, waiting: 1, suppressed: {} })
  const expired = limits.expire(
    { shared: [key], own: [] },
    stored('{"v":2,"rule":"r","waiting":3}'),
    START_MS,
  )
  expect(expired.rules.get('r')).toMatchObject({ waiting: -3, suppressed: { gone: 3 } })
  expect(expired.writes.shared.get(key)).toBeNull()
})

test('what is not due is left as it is', () => {
  const bed = openBed({ group: { by: 'rule' }, throttle: { every: '1m' } })
  bed.run({ at: 0 })
  const limits = createLimits([{ name: 'r', ...limitsIn({ group: { by: 'rule' } }) }])
  const nothing: LimitStates = { shared: () => undefined, own: () => undefined }
  const outcome = limits.expire({ shared: ['r:x'], own: ['u:r'] }, nothing, START_MS)
  expect(outcome).toMatchObject({ deliveries: [], rules: new Map() })
  expect(bed.memory.expire(START_MS + 29_000).deliveries).toEqual([])
  expect(bed.until(30)).toEqual(['30 web'])
})

test('a clock that goes back lets nobody wait longer than a rule says', () => {
  const hour = 3600
  const told = (written: Written, happenings: Parameters<typeof limitedOf>[0][], until: number) => {
    const bed = openReloads({ r: written })
    // An hour ahead, then right.
    bed.apply({ at: hour })
    const now = happenings.flatMap((it) => bed.apply(it))
    return [...now, ...bed.until(until)]
  }
  expect(told({ throttle: { every: '10m' } }, [{ at: 0 }, { at: 601 }], 700)).toEqual(['web +1'])
  expect(told({ group: {} }, [{ at: 0 }], 300)).toEqual(['300 digest of 2'])
  expect(told({ for: '2m' }, [{ at: 0 }], 120)).toEqual(['120 web'])
  expect(told({ resolve: { after: '2m' } }, [{ at: 0 }], 120)).toEqual(['web', '120 web quiet'])
  expect(told({ after: { count: 3, within: '10m' } }, [{ at: 0 }, { at: 1 }], 9)).toEqual(['web +2'])
})

test('states stay small whatever comes', () => {
  const big = 'x'.repeat(1_000_000)
  const written: Written = {
    after: { count: 2, within: '1h', per: ['annotations.big', 'labels.a'] },
    throttle: { every: '1s', burst: 1000, per: 'rule' },
    group: { by: ['labels.a', 'namespace'], max: 1000 },
    resolve: { after: '1h', per: 'labels.a' },
  }
  const bed = openBed(written)
  const largest = { key: 0, text: 0 }
  const limits = createLimits([{ name: 'r', ...limitsIn(written) }])
  const states = new Map<string, string>()
  for (let n = 0; n < 4; n++) {
    const outcome = limits.apply(
      [limitedOf({ at: n, labels: { a: big }, object: { data: { [big]: [big] }, n: Array(n).fill(big) } })],
      { shared: (key) => states.get(key), own: () => undefined },
      START_MS + n * 1000,
    )
    for (const [key, state] of outcome.writes.shared) {
      if (state === null) states.delete(key)
      else states.set(key, state.text)
      largest.key = Math.max(largest.key, key.length)
      largest.text = Math.max(largest.text, state?.text.length ?? 0)
    }
  }
  for (let n = 0; n < 900; n++)
    bed.run({ at: 0, name: `pod-${n}`, reason: 'x'.repeat(5_000), labels: { a: 'x' } })
  expect(largest.key).toBeLessThan(90)
  expect(largest.text).toBeLessThan(300_000)
  const [digest] = bed.memory.advance(START_MS + MINUTE_MS).flatMap(({ outcome }) => outcome.deliveries)
  expect(digest?.notice).toMatchObject({ kind: 'digest', count: 450 })
  expect(digest?.notice?.kind === 'digest' && digest.notice.items.length).toBe(100)
  expect(JSON.stringify(digest?.notice).length).toBeLessThan(100_000)
})

test.each<[string, Written]>([
  ['for', { for: '1m' }],
  ['resolve: true', { resolve: true, group: { by: 'rule' } }],
  ['debounce', { debounce: { quiet: '1m' } }],
])('no object fills the states of %s', (_, written) => {
  const limits = createLimits([{ name: 'r', ...limitsIn(written) }])
  const states = new Map<string, string>()
  const stored = { shared: (key: string) => states.get(key), own: (key: string) => states.get(key) }
  for (const [at, holds] of [true, true, false, true].entries()) {
    const object = { data: Object.fromEntries(Array.from({ length: 20 }, (_, n) => [n, 'x'.repeat(50_000)])) }
    const { writes } = limits.apply([limitedOf({ at, holds, object })], stored, START_MS + at * 1000)
    for (const [key, state] of [...writes.shared, ...writes.own]) {
      if (state === null) states.delete(key)
      else states.set(key, state.text)
      expect(state?.text.length ?? 0).toBeLessThan(300_000)
    }
  }
  expect(states.size).toBeGreaterThan(0)
})

test.each<[string, Written]>([
  ['a digest', { group: {} }],
  ['resolve: {after}', { resolve: { after: '1h' } }],
  ['for', { for: '1m' }],
])('no text of an Event fills the state of %s', (_, written) => {
  const big = 'x'.repeat(1_000_000)
  const ref = { apiVersion: big, kind: big, namespace: big, name: big, uid: big, fieldPath: big }
  const limited = limitedOf({ at: 0, reason: big })
  Object.defineProperties(limited.event, {
    event: {
      value: {
        ...{ type: big, reason: big, message: big, count: 3, regarding: ref },
        ...{ firstSeen: big, lastSeen: big, reportingComponent: big },
      },
    },
    regardingOwners: { value: [ref] },
    manager: { value: big },
  })
  const limits = createLimits([{ name: 'r', ...limitsIn(written) }])
  const nothing = { shared: () => undefined, own: () => undefined }
  const { writes } = limits.apply([limited], nothing, START_MS)
  const texts = [...writes.shared.values(), ...writes.own.values()].map((it) => it?.text ?? '')
  expect(texts).toHaveLength(1)
  expect(texts[0]?.length).toBeLessThan(30_000)
})

test('large objects that wait keep their form', () => {
  const bed = openBed({ for: '1m' })
  const text = 'ä"'.repeat(200_000)
  bed.run({ at: 0, object: { kind: 'Pod', metadata: { name: 'web' }, status: { phase: 'Failed', text } } })
  bed.until(60)
  const object = JSON.parse(bed.deliveries[0]?.objectJson.toString() ?? '')
  expect(object).toMatchObject({ kind: 'Pod', metadata: { name: 'web' }, status: { phase: 'Failed' } })
  expect(object.status.text.length).toBeLessThanOrEqual(4000)
  const small = openBed({ for: '1m' })
  small.run({ at: 0, object: { n: 'ünicode', big: 'x'.repeat(1000) } })
  small.until(60)
  expect(small.deliveries[0]?.objectJson.toString()).toBe(`{"n":"ünicode","big":"${'x'.repeat(1000)}"}`)
})

const LARGE = { kind: 'ConfigMap', metadata: { name: 'web' }, data: { text: 'x'.repeat(300_000) } }
/** Whether the object of each delivery is the large one, `marked` if it is not, and has the mark. */
const wholeIn = ({ deliveries }: Bed) =>
  deliveries.map(({ objectJson, truncated }) => {
    const isWhole = objectJson.equals(Buffer.from(JSON.stringify(LARGE)))
    return isWhole ? !truncated : truncated && 'marked'
  })

test.each<[string, Written]>([
  ['throttle', { throttle: { every: '1m' } }],
  ['after', { after: { count: 2, within: '1m' } }],
  ['resolve: true', { resolve: true }],
  ['resolve: true and group', { resolve: true, group: { wait: '0s' } }],
  ['group without a wait', { group: { wait: '0s' } }],
  ['resolve: {after}', { resolve: { after: '1m' } }],
])('a large object that %s sends immediately is whole', (_, written) => {
  const bed = openBed(written)
  const isCounted = written.after !== undefined
  if (isCounted) bed.run({ at: 0, object: LARGE })
  bed.run({ at: 1, object: LARGE })
  expect(wholeIn(bed)).toEqual([true])
})

test('a large object that ends its incident is whole, and marked if the end waited', () => {
  const bed = openBed({ resolve: true })
  bed.run({ at: 0 }, { at: 1, holds: false, object: LARGE })
  expect(bed.deliveries.map(inShort)).toEqual(['web', 'web ended'])
  expect(wholeIn(bed)[1]).toBe(true)
  const grouped = openBed({ resolve: true, group: { wait: '30s' } })
  grouped.run({ at: 0 }, { at: 1, holds: false, object: LARGE })
  expect(grouped.until(60)).toEqual(['30 web', '31 web ended'])
  expect(wholeIn(grouped)[1]).toBe('marked')
})

test.each<[string, Written]>([
  ['for', { for: '1m' }],
  ['for and group', { for: '1m', group: { wait: '10s' } }],
  ['debounce', { debounce: { quiet: '10s' } }],
  ['debounce and group', { debounce: { quiet: '10s' }, group: { wait: '0s' } }],
  ['group', { group: { wait: '10s' } }],
])('a large object that waited for %s is marked', (_, written) => {
  const bed = openBed(written)
  bed.run({ at: 0, object: LARGE })
  bed.until(999)
  expect(wholeIn(bed)).toEqual(['marked'])
  const small = openBed(written)
  small.run({ at: 0 })
  small.until(999)
  expect(small.deliveries).toHaveLength(1)
  expect(small.deliveries[0]).not.toHaveProperty('truncated')
})

test('a digest and the end of an incident are marked if their object is large', () => {
  const digest = openBed({ group: { by: 'rule' } })
  digest.run({ at: 0, object: LARGE }, { at: 1, name: 'other' })
  expect(digest.until(60)).toEqual(['30 digest of 2'])
  expect(wholeIn(digest)).toEqual(['marked'])
  const quiet = openBed({ resolve: { after: '1m' } })
  quiet.run({ at: 0 }, { at: 1, object: LARGE })
  expect(quiet.until(99)).toEqual(['0 web', '1 web', '61 web quiet'])
  expect(wholeIn(quiet).slice(1)).toEqual([true, 'marked'])
})

test('an object deep as a well does not stop what waits', () => {
  const bed = openBed({ for: '1m' })
  let deep: object = { big: 'x'.repeat(300_000) }
  for (let n = 0; n < 1000; n++) deep = { deep }
  bed.run({ at: 0, object: deep })
  bed.until(60)
  expect(bed.deliveries).toHaveLength(1)
})

test('a throttle remembers for a day what it suppressed', () => {
  const DAY = 86_400
  const bed = openBed({ throttle: { every: '10m' } })
  bed.run({ at: 0 }, { at: 1 }, { at: DAY })
  expect(bed.run({ at: DAY + 700 })).toEqual(['0 web', `${DAY} web +1`, `${DAY + 700} web`])
  const long = openBed({ throttle: { every: '10m' } })
  expect(long.run({ at: 0 }, { at: 1 }, { at: DAY + 1 })).toEqual(['0 web', `${DAY + 1} web`])
})

test('what is over before it is decided, as while kubeherald was down, is not told', () => {
  const bed = openReloads({ r: { for: '2m', resolve: true } })
  bed.apply({ at: 0 })
  expect(bed.apply({ at: 300, holds: false, synthesized: true })).toEqual([])
  expect(bed.until(999)).toEqual([])
  expect(bed.memory.counts().get('r')).toSatisfy(balances)
})

test('states that are read only when they are asked for lead to the same', () => {
  const rule = { name: 'r', ...limitsIn({ for: '1m', throttle: { every: '10m', per: 'rule' } }) }
  const limits: Limits = createLimits([rule])
  const all = { shared: new Map<string, string>(), own: new Map<string, string>() }
  /** As a store that learns by asking which keys it has to read. */
  function decide(evaluateWith: (states: LimitStates) => LimitOutcome): LimitOutcome {
    const known = new Set<string>()
    for (;;) {
      let isNew = false
      const read = (scope: 'shared' | 'own') => (key: string) => {
        if (known.has(scope + key)) return all[scope].get(key)
        known.add(scope + key)
        isNew = true
        return undefined
      }
      const outcome = evaluateWith({ shared: read('shared'), own: read('own') })
      if (isNew) continue
      for (const scope of ['shared', 'own'] as const)
        for (const [key, state] of outcome.writes[scope]) {
          if (state) all[scope].set(key, state.text)
          else all[scope].delete(key)
        }
      return outcome
    }
  }
  decide((states) => limits.apply([limitedOf({ at: 0, name: 'a' })], states, START_MS))
  decide((states) => limits.apply([limitedOf({ at: 1, name: 'b' })], states, START_MS + 1000))
  const due = { shared: [], own: ['u-b:r', 'u-a:r'] }
  const outcome = decide((states) => limits.expire(due, states, START_MS + 2 * MINUTE_MS))
  expect(outcome.deliveries.map(inShort)).toEqual(['a'])
  expect(outcome.rules.get('r')).toMatchObject({ sent: 1, waiting: -1, suppressed: {} })
})

test.each<[string, Written, string[]]>([
  ['longer', { for: '1m', throttle: { every: '20m', per: 'rule' } }, ['1260 b']],
  ['shorter', { for: '1m', throttle: { every: '5m', per: 'rule' } }, ['360 b']],
  ['gone', { for: '1m' }, ['61 b']],
])(
  'a state that waits for throttle is sent by the present one, once it is evaluated: %s',
  (_, changed, sent) => {
    const bed = openReloads({ r: { for: '1m', throttle: { every: '10m', per: 'rule' } } })
    bed.apply({ at: 0, name: 'a' })
    bed.apply({ at: 1, name: 'b' })
    bed.until(61)
    bed.reload({ r: changed })
    bed.apply({ at: 70, name: 'b', entered: false })
    expect(bed.until(5000)).toEqual(sent)
    expect(bed.memory.counts().get('r')).toMatchObject({ matched: 2, sent: 2, waiting: 0 })
  },
)

test('a count that an older version stored goes on', () => {
  const rule = { name: 'r', ...limitsIn({ count: { at: [3], every: 50 }, resolve: { after: '20m' } }) }
  const stored = JSON.stringify({ v: 1, limit: 'count', rule: 'r', waiting: 0, seen: 20 })
  const states = { shared: () => undefined, own: () => stored }
  const sent = [21, 23, 50].filter((count) => {
    const limited = limitedOf({ at: 7200, reason: 'BackOff', uid: 'e', count })
    return createLimits([rule]).apply([limited], states, START_MS + 7_200_000).deliveries.length > 0
  })
  expect(sent).toEqual([50])
})
