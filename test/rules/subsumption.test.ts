import { expect, test } from 'vitest'
import { checkRule, compileRules } from '../../src/rules/compile.ts'
import { isSubsumedBy, type When } from '../../src/rules/when.ts'
import { createRandom, type Random, randomEvent, randomWhen } from './random.ts'

test.each<[When, When]>([
  [{ kind: 'Event', type: 'Warning' }, { kind: 'Event' }],
  [{ kind: 'Pod' }, {}],
  [{ kind: 'deploy' }, { kind: 'Deploy*' }],
  [{ kind: 'deployments.apps' }, { kind: ['Pod', 'Deployments'] }],
  [{ reason: 'BackOff' }, { kind: 'Event' }],
  [{ kind: ['Pod', '!Node', '!Event'] }, { kind: '!Event' }],
  [{ namespace: ['shop', 'web'] }, { namespace: ['s*', 'web', 'pay'] }],
  [{ namespace: 'pay-*' }, { namespace: ['pay-*', 'shop'] }],
  [{ namespace: '/^pay-/' }, { namespace: '/^pay-/' }],
  [{ name: 'web' }, { name: '!*-canary' }],
  [{ name: ['web-*', '!*-canary'] }, { name: ['web-*', '!web-canary'] }],
  [{ type: 'ADDED' }, { type: ['ADDED', 'MODIFIED'] }],
  [{ type: ['ADDED', 'MODIFIED'] }, { type: '!DELETED' }],
  [{ type: ['ADDED', 'Warning'] }, { type: 'Warning' }],
  [{ labels: 'team in (b, a), tier=x' }, { labels: 'team in (a,b)' }],
  [{ labels: { team: 'shop', tier: '*' } }, { labels: { team: ['shop', 'pay'] } }],
  [{ owner: ['Deployment/web', '!Job'] }, { owner: ['Deployment/web', 'StatefulSet'] }],
  [{ owner: 'Deployment/web' }, { owner: '*' }],
  [{ synthesized: true, kind: 'Pod' }, { synthesized: true }],
  [{ age: ['<5m', '>1m'] }, { age: '<5m' }],
  [{ namespaceLabels: 'env=prod,team=a' }, { namespaceLabels: 'team=a' }],
  [{ regarding: { labels: 'a', owner: 'Job' } }, { regarding: { labels: 'a' } }],
  [{ regarding: { kind: 'Pod', name: 'web-1' } }, { regarding: { kind: 'Pod', name: 'web-*' } }],
])('%j is part of %j, and not the other way round unless they say the same', (narrow, wide) => {
  expect(isSubsumedBy(narrow, wide)).toBe(true)
  const areSame = JSON.stringify(narrow) === JSON.stringify(wide)
  expect(isSubsumedBy(wide, narrow)).toBe(areSame || JSON.stringify(wide.type) === '"!DELETED"')
})

test.each<[When, When]>([
  [{ kind: 'pods' }, { kind: 'Pod' }],
  [{ kind: 'Pod' }, { kind: 'v1/Pod' }],
  [{ kind: 'Pod' }, { kind: '/^Pod$/' }],
  [{ kind: 'po' }, { kind: 'po*', name: '*' }],
  [{ namespace: '!shop' }, { namespace: '*' }],
  [{ namespace: 'pay-e*' }, { namespace: 'pay-*' }],
  [{ namespace: ['pay-*', '!pay-x'] }, { namespace: ['pay-*', '!pay-eu'] }],
  [{ type: 'ADDED' }, { type: '!Normal' }],
  [{ type: '!Normal' }, { type: 'Warning' }],
  [{ labels: 'team=a' }, { labels: { team: 'a' } }],
  [{ owner: 'Deployment/web' }, { owner: 'Deployment' }],
  [{ owner: 'Deployment' }, { owner: ['Deployment', '!Job'] }],
  [{ synthesized: true }, { synthesized: false }],
  [{ age: '<5m' }, { age: '<10m' }],
  [{ kind: 'Pod' }, { kind: 'Pod', somethingNew: 'x' } as When],
])('%j is not certain to be part of %j', (narrow, wide) => {
  expect(isSubsumedBy(narrow, wide)).toBe(false)
})

test('the patterns of a list are read once, however many lists they are compared with', () => {
  let reads = 0
  const lists = Array.from(
    { length: 20 },
    (_, rule) =>
      new Proxy(
        Array.from({ length: 10 }, (_, i) => `n${rule}-${i}-*`),
        {
          get(target, key) {
            if (/^\d+$/.test(String(key))) reads++
            return Reflect.get(target, key)
          },
        },
      ),
  )
  for (const wide of lists)
    for (const narrow of lists)
      expect(isSubsumedBy({ name: narrow, kind: narrow }, { name: wide, kind: wide })).toBe(narrow === wide)
  expect(reads).toBe(200)
})

/** Something like it, so that many are part of others. */
function related(when: When, random: Random): When {
  const other = Object.entries({ ...when, ...randomWhen(random) })
  return Object.fromEntries(other.filter(([key]) => random.next() < 0.8 || !(key in when)))
}

test('what is said to be part of something is, on random conditions and events', () => {
  const random = createRandom(20_261_122)
  const events = Array.from({ length: 400 }, () => randomEvent(random))
  const onError = (_: string, error: unknown) => {
    throw error
  }
  const matcher = (when: When) => compileRules([{ name: 'r', when, to: ['s'] }], { onError })
  const seen = { implied: 0, matched: 0 }
  for (let round = 0; round < 4_000; round++) {
    const wide = randomWhen(random)
    const narrow = related(wide, random)
    if (checkRule({ when: wide }).length + checkRule({ when: narrow }).length > 0) continue
    if (!isSubsumedBy(narrow, wide)) continue
    seen.implied++
    const [isNarrow, isWide] = [matcher(narrow), matcher(wide)]
    for (const event of events) {
      if (isNarrow(event).sends.length === 0) continue
      seen.matched++
      expect(isWide(event).sends.length, JSON.stringify({ narrow, wide, event })).toBe(1)
    }
  }
  expect(seen.implied).toBeGreaterThan(200)
  expect(seen.matched).toBeGreaterThan(2_000)
})
