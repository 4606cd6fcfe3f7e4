import { expect } from 'vitest'
import { waitFor } from '../wait-for.ts'
import type { Bed } from './bed.ts'
import { differences, exactly } from './compare.ts'

interface Parts {
  watch?: string
  sinks?: string
  rules?: string
}

export function configOf({ redis, hook }: Bed, parts: Parts = {}): string {
  return `
cluster: test
redis: { url: "${redis.url}" }
watch: ${parts.watch ?? '[{ kind: ConfigMap, namespaces: default }]'}
sinks: ${parts.sinks ?? `{ hook: { type: webhook, url: "${hook.url}" } }`}
rules: ${parts.rules ?? ruleNamed('all')}`
}

export const ruleNamed = (name: string, to = 'hook') =>
  `[{ name: ${name}, when: { namespace: default, name: "!kube-*" }, to: [${to}] }]`

/** What the receiver took, by the rule that sent it: `MODIFIED name@version`. */
export function rulesSeen({ hook }: Pick<Bed, 'hook'>): Map<string, string[]> {
  const events = hook.requests.filter(({ status }) => status === 200).map(({ body }) => JSON.parse(body))
  const seen = new Map<string, string[]>()
  for (const { data, name, resourceversion } of events) {
    const changes = seen.get(data.rule) ?? []
    seen.set(data.rule, [...changes, `${data.type} ${name}@${resourceversion}`])
  }
  return seen
}

async function pending({ kubeherald }: Bed): Promise<number> {
  const { ledger } = await kubeherald.status()
  return Object.values(ledger.sinks as Record<string, { pending: number }>).reduce(
    (sum, it) => sum + it.pending,
    0,
  )
}

/** Everything that happened was enqueued once, by one rule, delivered in order, and the ledger says so. */
export async function expectExactly(bed: Bed, { repeats = false } = {}): Promise<void> {
  const history = await bed.allArrived()
  const { repeated, ...others } = differences(history, bed.arrivals())
  const { repeated: _, ...nothing } = exactly()
  expect(others).toEqual(nothing)
  if (!repeats) expect(repeated).toEqual([])
  const rulesOf = Map.groupBy(
    [...rulesSeen(bed)].flatMap(([rule, changes]) => changes.map((change) => ({ rule, change }))),
    ({ change }) => change,
  )
  for (const sent of rulesOf.values()) expect(new Set(sent.map(({ rule }) => rule)).size).toBe(1)
  await waitFor(async () => (await pending(bed)) === 0, { what: 'empty lanes' })
  const { ledger } = await bed.kubeherald.status()
  const sinks = Object.values(ledger.sinks) as { enqueued: number; pending: number }[]
  expect(sinks.reduce((sum, { enqueued }) => sum + enqueued, 0)).toBe(history.length)
  expect(ledger).toMatchObject({ balanced: true, verified: true })
}
