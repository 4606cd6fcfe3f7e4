import { expect, test } from 'vitest'
import type { ChangeType, ClusterEvent, ObjectRef } from '../../src/model/event.ts'
import { compileRules, type LimitScope } from '../../src/rules/compile.ts'
import type { Rule } from '../../src/rules/schema.ts'
import { normalise } from '../../src/watch/decode/normalise.ts'
import { readFrame } from '../../src/watch/decode/scan.ts'
import { DEPLOYMENT, EVENT, NEW_EVENT, NODE, POD } from './events.ts'
import { hostileJson } from './hostile-json.ts'
import { createRandom, type Random, randomLabels, randomSurroundings, randomWhen, WORDS } from './random.ts'
import { type PlainEvent, slowMatch } from './slow-match.ts'

/** Fewer for a quick look. */
const EVENTS = Number(process.env['KUBEHERALD_RANDOM_EVENTS'] ?? 30_000)
const EVENTS_PER_RULES = 25
const OBSERVED_MS = Date.parse('2026-11-21T06:00:00Z')

function randomRules(random: Random): Rule[] {
  return Array.from({ length: 1 + Math.floor(random.next() * 8) }, (_, index): Rule => {
    const base = { name: `rule-${index}`, when: randomWhen(random) }
    const sinks = () => ['s1', 's2', 's3'].filter(() => random.next() < 0.5)
    if (random.next() < 0.15) return { ...base, drop: true }
    return { ...base, to: [...sinks(), 's0'], ...(random.next() < 0.15 && { continue: false }) }
  })
}

/** The object as an API server would have it, but for what is in it. */
function randomObject(random: Random, resource: typeof POD): Record<string, unknown> {
  const { maybe, next, pick } = random
  const metadata = {
    name: pick(WORDS.slice(0, -1)),
    ...(resource.namespaced && { namespace: pick(WORDS) }),
    uid: `uid-${Math.floor(next() * 1e6)}`,
    resourceVersion: String(Math.floor(next() * 1e9)),
    creationTimestamp: maybe(() => pick(['2026-11-21T05:58:00Z', '2026-11-21T05:30:00Z', null])),
    labels: maybe(() => (next() < 0.05 ? null : { ...randomLabels(random), ...hostile(random) })),
    annotations: maybe(() => ({ ...randomLabels(random), ...hostile(random) })),
    ownerReferences: maybe(() => [
      { apiVersion: 'apps/v1', kind: 'Deployment', name: pick(WORDS), uid: 'o', controller: next() < 0.7 },
    ]),
    managedFields: maybe(() => [
      { manager: 'x', fieldsV1: { 'f:reason': {}, 'f:metadata': { 'f:name': '"' } } },
    ]),
  }
  const about = { kind: pick(['Pod', 'Node']), namespace: pick(WORDS), name: pick(WORDS), uid: 'u' }
  const ofEvent = {
    [resource.group === '' ? 'involvedObject' : 'regarding']: next() < 0.05 ? null : about,
    reason: maybe(() => pick(WORDS)),
    [resource.group === '' ? 'message' : 'note']: pick([...WORDS, 'a\u2028"b"\\', '\u0000ab', '🙂b']),
    type: pick(['Normal', 'Warning']),
    count: maybe(() => Math.floor(next() * 5)),
    series: maybe(() => pick([null, { count: 3, lastObservedTime: '2026-11-21T05:59:00.000000Z' }])),
    related: { reason: 'no', type: 'no', metadata: { name: 'no' } },
  }
  const spec = { reason: 'no', metadata: { labels: { x: 'no' } }, text: '"reason":"a"}' }
  return {
    kind: resource.kind,
    apiVersion: 'v1',
    ...(resource.kind === 'Event' ? ofEvent : { spec }),
    metadata,
  }
}

function hostile({ next, pick }: Random): Record<string, string> {
  if (next() < 0.8) return {}
  return JSON.parse(
    `{"__proto__":"a","toString":"b","x":${JSON.stringify(pick(['a"', '\\', 'ü', '\u0000', '}']))}}`,
  )
}

/** The same event twice: as the line makes it of a frame's bytes, and as plain data. */
function randomPair(random: Random): { event: ClusterEvent; plain: PlainEvent } {
  const { next, pick } = random
  const resource = pick([POD, DEPLOYMENT, EVENT, NEW_EVENT, NODE])
  const type = pick<ChangeType>(['ADDED', 'MODIFIED', 'DELETED'])
  const synthesized = next() < 0.2
  const text = hostileJson(randomObject(random, resource), random)
  const frame = readFrame(Buffer.from(`{"type":"${type}","object":${text}}`))
  if (frame.kind !== 'change') throw new Error(`${frame.kind}: ${text}`)
  const { object } = frame
  const { uid, resourceVersion, namespace, name, labelsJson } = object
  const base = { uid, resourceVersion, namespace, name, labelsJson, observedAtMs: OBSERVED_MS }
  const source = { clusterUid: 'c', resource } as Parameters<typeof normalise>[0]
  const transition = { ...base, type, synthesized, object }
  const event = normalise(source, transition, { cluster: 'test', salt: Buffer.alloc(32) })
  const around = randomSurroundings(random)
  for (const [key, value] of Object.entries(around))
    if (key !== 'owners' || value) Object.defineProperty(event, key, { value })
  return { event, plain: { ...plainOf(text, resource), type, synthesized, ...known(around) } }
}

function known(around: ReturnType<typeof randomSurroundings>): Partial<PlainEvent> {
  const { owners, ...rest } = around
  return owners ? { owners, ...rest } : rest
}

function plainOf(text: string, resource: typeof POD): Omit<PlainEvent, 'type' | 'synthesized'> {
  const object = JSON.parse(text)
  const { metadata } = object
  const { creationTimestamp, ownerReferences = [] } = metadata
  const regarding = object.involvedObject ?? object.regarding ?? {}
  return {
    resource,
    namespace: metadata.namespace || undefined,
    name: metadata.name,
    ageMs: creationTimestamp ? OBSERVED_MS - Date.parse(creationTimestamp) : undefined,
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    owners: ownerReferences.filter(({ controller }: { controller: boolean }) => controller) as ObjectRef[],
    event:
      resource.kind === 'Event'
        ? {
            type: object.type ?? '',
            reason: object.reason ?? '',
            message: object.message ?? object.note ?? '',
            regarding: Object.fromEntries(Object.entries(regarding).filter(([, value]) => value)),
          }
        : undefined,
  }
}

test(`compiled rules say of ${EVENTS} random frames what the plain meaning says`, () => {
  const random = createRandom(20_261_121)
  const seen = { sent: 0, dropped: 0, limited: 0, entered: 0, unmatched: 0, refused: 0 }
  for (let done = 0; done < EVENTS; ) {
    const rules = randomRules(random)
    const limits = new Map(
      rules.map(({ name }) => [
        name,
        random.pick<LimitScope | undefined>([undefined, undefined, 'events', 'states']),
      ]),
    )
    const limitsOf = (name: string) => limits.get(name)
    let match: ReturnType<typeof compileRules>
    try {
      match = compileRules(rules, {
        limitsOf,
        onError: (_, error) => {
          throw error
        },
      })
    } catch {
      seen.refused++
      continue
    }
    for (let i = 0; i < EVENTS_PER_RULES; i++, done++) {
      const { event, plain } = randomPair(random)
      const result = match(event)
      const expected = slowMatch(rules, plain, limitsOf)
      if (result.sends.length > 0) seen.sent++
      else if (result.limited.length > 0) seen.limited++
      else seen[result.dropped ? 'dropped' : 'unmatched']++
      if (result.limited.some(({ entered }) => entered)) seen.entered++
      if (JSON.stringify(result) !== JSON.stringify(expected))
        expect(result, JSON.stringify({ rules, plain }, null, 1)).toEqual(expected)
    }
  }
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(EVENTS / 1_000)
})
