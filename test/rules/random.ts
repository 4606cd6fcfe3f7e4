import type { ChangeType, ClusterEvent } from '../../src/event.ts'
import type { Patterns, When } from '../../src/rules/schema.ts'
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

const WORDS = ['a', 'b', 'ab', 'ba', 'aab', 'abb', '']
const GLOBS = ['a*', '*b', '?b', 'a*b', '*', '?']
const REGEXES = ['/^a/', '/b$/', '/ab/', '/^a+b?$/']

function randomPatterns({ next, pick }: Random, words: readonly string[]): Patterns {
  const one = () => (next() < 0.25 ? '!' : '') + pick([...words, ...words, ...GLOBS, ...REGEXES])
  return next() < 0.6 ? one() : Array.from({ length: 1 + Math.floor(next() * 3) }, one)
}

export function randomWhen(random: Random): When {
  const { maybe, pick } = random
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
      pick(['x', '!x', 'x=a', 'x!=a', 'x in (a, ab)', { x: text() }, { x: text(), y: text() }]),
    ),
    reason: maybe(() => randomPatterns(random, WORDS.slice(0, -1))),
    regarding: maybe(() => ({ name: text() })),
  }
  return Object.fromEntries(Object.entries(when).filter(([, value]) => value !== undefined))
}

export function randomEvent({ next, pick }: Random): ClusterEvent {
  const resource = pick([POD, DEPLOYMENT, EVENT, NODE])
  const labels = Object.fromEntries(['x', 'y'].flatMap((key) => (next() < 0.5 ? [[key, pick(WORDS)]] : [])))
  const event = {
    type: pick(['Normal', 'Warning']),
    reason: pick(WORDS),
    regarding: next() < 0.8 ? { name: pick(WORDS) } : {},
  }
  const namespace = resource.namespaced ? pick(WORDS) : undefined
  return clusterEvent({
    resource,
    type: pick<ChangeType>(['ADDED', 'MODIFIED', 'DELETED']),
    namespace,
    name: pick(WORDS),
    labels,
    event,
  })
}
