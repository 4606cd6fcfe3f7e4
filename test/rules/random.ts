import type { ChangeType, ClusterEvent } from '../../src/model/event.ts'
import type { Patterns } from '../../src/rules/pattern.ts'
import type { KeyValues } from '../../src/rules/selector.ts'
import type { Regarding, When } from '../../src/rules/when.ts'
import { clusterEvent, DEPLOYMENT, EVENT, NODE, POD } from './events.ts'

/** Small and seeded: a failure can be repeated. */
export function createRandom(seed: number) {
  let state = seed
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  const pick = <T>(choices: readonly T[]): T => choices[Math.floor(next() * choices.length)]!
  return { next, pick, maybe: <T>(value: () => T): T | undefined => (next() < 0.4 ? value() : undefined) }
}
export type Random = ReturnType<typeof createRandom>

export const WORDS = ['a', 'b', 'ab', 'ba', 'aab', 'abb', '']
const GLOBS = ['a*', '*b', '?b', 'a*b', '*', '?']
const REGEXES = ['/^a/', '/b$/', '/ab/', '/^a+b?$/']

function randomPatterns({ next, pick }: Random, words: readonly string[]): Patterns {
  const one = () => (next() < 0.25 ? '!' : '') + pick([...words, ...words, ...GLOBS, ...REGEXES])
  return next() < 0.6 ? one() : Array.from({ length: 1 + Math.floor(next() * 3) }, one)
}

export const OWNERS = [
  'Deployment',
  'deploy/a',
  'Deployment/a*',
  'deployments.apps/ab',
  '*/a',
  '*/*b',
  '*',
  'Job/?b',
  'rollouts.example.com',
  '/^Job.a/',
  '!Deployment',
  '!*/a',
  '!*',
  '!Job/b',
]

export function randomWhen(random: Random): When {
  const { maybe, next, pick } = random
  const owner = () => (next() < 0.7 ? pick(OWNERS) : [pick(OWNERS), pick(OWNERS)])
  const text = () => randomPatterns(random, WORDS.slice(0, -1))
  const when = {
    kind: maybe(() =>
      pick(['Pod', 'pods', '!Pod', 'Deployment', 'deployments.apps', 'Event', 'Node', ['Pod', 'Event']]),
    ),
    namespace: maybe(text),
    name: maybe(text),
    type: maybe(() =>
      pick(['ADDED', '!DELETED', ['ADDED', 'MODIFIED'], 'Warning', '!Normal', ['ADDED', 'Warning']]),
    ),
    labels: maybe(() =>
      pick<KeyValues>([
        'x',
        '!x',
        'x=a',
        'x!=a',
        'x in (a, ab)',
        { x: text() },
        { x: text(), y: text() },
        { constructor: text() },
      ]),
    ),
    reason: maybe(() => randomPatterns(random, WORDS.slice(0, -1))),
    regarding: maybe(() =>
      pick<Regarding>([
        { name: text() },
        { kind: pick(['Pod', 'pods', '!Pod']), name: text() },
        { namespace: text(), labels: { x: text() } },
        { owner: owner() },
      ]),
    ),
    ...(next() < 0.25 && {
      namespaceLabels: maybe(() => pick(['x', '!x', 'x=a', { x: text() }])),
      annotations: maybe(() => pick(['x', '!x', 'x=a', { x: text(), constructor: text() }])),
      owner: maybe(owner),
      synthesized: maybe(() => next() < 0.5),
      age: maybe(() => pick(['<5m', '>=5m', ['>1m', '<=1h'], '>1h'])),
      message: maybe(() => randomPatterns(random, WORDS)),
    }),
  }
  return Object.fromEntries(Object.entries(when).filter(([, value]) => value !== undefined))
}

const REFS = [
  { apiVersion: 'apps/v1', kind: 'Deployment' },
  { apiVersion: 'apps/v1', kind: 'ReplicaSet' },
  { apiVersion: 'batch/v1', kind: 'Job' },
  { apiVersion: 'example.com/v1', kind: 'Rollout' },
]

export function randomLabels({ next, pick }: Random): Record<string, string> {
  const keys = ['x', 'y', 'constructor'].filter(() => next() < 0.5)
  return Object.fromEntries(keys.map((key) => [key, pick(WORDS)]))
}

/** What is known around an object; often nothing. */
export function randomSurroundings(random: Random) {
  const { maybe, next, pick } = random
  const owners = () =>
    Array.from({ length: Math.floor(next() * 3) }, () => ({ ...pick(REFS), name: pick(['a', 'b', 'ab']) }))
  return {
    namespaceLabels: maybe(() => randomLabels(random)),
    owners: maybe(owners),
    regardingLabels: maybe(() => randomLabels(random)),
    regardingOwners: maybe(owners),
  }
}

export function randomEvent(random: Random): ClusterEvent {
  const { next, pick, maybe } = random
  const resource = pick([POD, DEPLOYMENT, EVENT, NODE])
  const event = {
    type: pick(['Normal', 'Warning']),
    reason: pick(WORDS),
    message: pick(WORDS),
    regarding: next() < 0.8 ? { kind: pick(['Pod', 'Node']), namespace: pick(WORDS), name: pick(WORDS) } : {},
  }
  const created = maybe(() => pick(['2026-11-21T05:58:00Z', '2026-11-21T05:00:00Z', '2026-11-20T05:00:00Z']))
  const around = Object.entries(randomSurroundings(random)).filter(([, value]) => value !== undefined)
  return clusterEvent({
    resource,
    type: pick<ChangeType>(['ADDED', 'MODIFIED', 'DELETED']),
    namespace: resource.namespaced ? pick(WORDS) : undefined,
    name: pick(WORDS),
    labels: randomLabels(random),
    annotations: randomLabels(random),
    event,
    synthesized: next() < 0.2,
    ...(created !== undefined && { created }),
    ...Object.fromEntries(around),
  })
}
