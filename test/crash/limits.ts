import { createHash } from 'node:crypto'
import type { ReceivedRequest } from '../servers/receiver.ts'

/** Some of all: a rule counts by 10,000 objects at most, and the load makes three times as many in five minutes. */
const COUNTED = '["*-1", "*-2", "*-3"]'
const isCounted = ({ name }: Told) => /-[123]$/.test(name)

/** Each limit at a path of its own: what a rule above sends to a sink, no rule below does. */
export const LIMITED_RULES = `
  - { name: throttled, when: { namespace: default, name: ${COUNTED} }, throttle: { per: object, every: 2s }, to: throttled }
  - { name: counted, when: { namespace: default, name: ${COUNTED} }, after: { count: 2, within: 1h, per: object }, to: counted }
  - { name: grouped, when: { namespace: default }, group: { by: kind, wait: 2s, interval: 4s, max: 20 }, to: grouped }
  - { name: debounced, when: { namespace: default }, debounce: { quiet: 2s, atMost: 8s }, to: debounced }
  - { name: sampled, when: { namespace: default }, sample: 0.3, to: sampled }
  - { name: lasting, to-state: { metadata.labels.step: "1" }, for: 1s, resolve: true, to: lasting }
  - { name: told, to-state: { metadata.labels.step: "1" }, group: { by: kind, wait: 1s, interval: 2s }, resolve: true, to: told }
  - { name: quiet, when: { type: DELETED }, throttle: { per: rule, every: 3s }, resolve: { after: 2s }, to: quiet }`

/** Groups as a reload may make them of others: whatever they are, each event is told once, in digests of no more than 20. */
export const usualGroups = /group: \{ by: kind, [^}]*\}/g
export const OTHER_GROUPS = [
  'group: { by: name, wait: 5s, interval: 1s, max: 7 }',
  'group: { by: [namespace, name], wait: 1s, interval: 8s, max: 3 }',
  'group: { by: rule, wait: 3s, interval: 2s, max: 20 }',
]

export const NAMES = [
  'throttled',
  'counted',
  'grouped',
  'debounced',
  'sampled',
  'lasting',
  'told',
  'quiet',
] as const

export const limitedSinks = (url: string) =>
  NAMES.map((name) => `${name}: { type: webhook, url: "${url}/${name}" }`).join(', ')

interface Told {
  id: string
  uid: string
  subject: string
  name: string
  timeMs: number
  type: string
  notice: 'digest' | 'resolved' | undefined
  ids: string[]
  count: number
}

type RuleLedger = {
  matched: number
  sent: number
  digested: number
  waiting: number
  notices: number
  suppressed: Record<string, number>
}

/**
 * What limits made of the events that the first rule sent, held against what they have to make of them: from the times and
 * ids of the events alone, whatever died in between.
 */
export function faultsOfLimits(
  requests: readonly ReceivedRequest[],
  rules: Record<string, RuleLedger>,
): string[] {
  const faults: string[] = []
  const came = (path: string) =>
    firstOf(requests.filter((it) => it.status === 200 && it.path === path).map(toldOf))
  const all = came('/hook')
  const counted = all.filter(isCounted)
  const objects = [...Map.groupBy(counted, ({ uid }) => uid).values()]
  const same = (rule: string, expected: readonly string[], told: readonly string[]) => {
    const [left, right] = [new Set(expected), new Set(told)]
    const missing = expected.filter((id) => !right.has(id))
    const more = told.filter((id) => !left.has(id))
    if (missing.length > 0) faults.push(`${rule}: ${missing.length} missing, such as ${missing.slice(0, 3)}`)
    if (more.length > 0) faults.push(`${rule}: ${more.length} too many, such as ${more.slice(0, 3)}`)
    if (told.length !== right.size) faults.push(`${rule}: ${told.length - right.size} told twice`)
  }

  const throttled = objects.flatMap((events) => {
    let lastMs = Number.NEGATIVE_INFINITY
    return events.filter(({ timeMs }) => {
      const passes = timeMs - lastMs >= 2_000
      if (passes) lastMs = timeMs
      return passes
    })
  })
  const ids = (some: readonly Told[]) => some.map(({ id }) => id)
  same('throttled', ids(throttled), ids(came('/hook/throttled')))
  same(
    'counted',
    ids(objects.flatMap((events) => events.filter((_, i) => i % 2 === 1))),
    ids(came('/hook/counted')),
  )
  same('sampled', ids(all.filter(({ id }) => partOf(id) < 0.3)), ids(came('/hook/sampled')))
  const grouped = came('/hook/grouped')
  same('grouped', ids(all), grouped.flatMap(itemsOf))
  for (const { count, ids, id } of grouped)
    if (count !== ids.length || count > 20) faults.push(`grouped: ${id} counts ${count} of ${ids.length}`)

  // Which states are sent depends on when a fault kept one back; the last state of an object never does.
  const debounced = came('/hook/debounced')
  const newest = (some: readonly Told[]) => new Map(some.map(({ subject, id }) => [subject, id]))
  const sentLast = newest(debounced)
  for (const [subject, id] of newest(all))
    if (sentLast.get(subject) !== id)
      faults.push(`debounced: the last of ${subject} is ${sentLast.get(subject)}, not ${id}`)
  if (debounced.some(({ id }) => !all.some((it) => it.id === id))) faults.push('debounced: an unknown event')

  // A digest has the lane of its first object: between lanes there is no order.
  const begun = new Set<string>()
  for (const it of came('/hook/lasting')) {
    if (it.notice === 'resolved' ? !begun.delete(it.uid) : begun.has(it.uid))
      faults.push(`lasting: ${it.id} is out of turn`)
    if (it.notice !== 'resolved') begun.add(it.uid)
  }
  const told = came('/hook/told')
  const toldIds = told.filter(({ notice }) => notice !== 'resolved').flatMap(itemsOf)
  if (new Set(toldIds).size !== toldIds.length) faults.push('told: an event was told twice')
  const toldUids = new Set(all.filter(({ id }) => toldIds.includes(id)).map(({ uid }) => uid))
  for (const it of told)
    if (it.notice === 'resolved' && !toldUids.has(it.uid)) faults.push(`told: ${it.id} was never begun`)

  const matched = {
    throttled: counted.length,
    counted: counted.length,
    grouped: all.length,
    debounced: all.length,
    sampled: all.length,
  } as const
  for (const [rule, count] of Object.entries({
    ...matched,
    quiet: all.filter(({ type }) => type === 'DELETED').length,
  }))
    if (rules[rule]?.matched !== count) faults.push(`${rule}: matched ${rules[rule]?.matched} of ${count}`)
  for (const rule of NAMES) {
    const told = came(`/hook/${rule}`)
    const counts = rules[rule]
    const sent = told.filter(({ notice }) => notice === undefined).length
    const digested = told
      .filter(({ notice }) => notice === 'digest')
      .reduce((sum, { count }) => sum + count, 0)
    const notices = told.filter(({ notice }) => notice !== undefined).length
    const seen = JSON.stringify({ sent, digested, notices, waiting: 0 })
    const { sent: s, digested: d, notices: n, waiting: w } = counts ?? ({} as RuleLedger)
    const ledger = JSON.stringify({ sent: s, digested: d, notices: n, waiting: w })
    if (seen !== ledger) faults.push(`${rule}: ${seen} came, the ledger says ${ledger}`)
  }
  return faults
}

function toldOf({ body }: ReceivedRequest): Told {
  const { id, uid, time, subject, data } = JSON.parse(body)
  const { digest, resolved, type } = data
  return {
    id,
    uid,
    subject: String(subject),
    name: String(subject).split('/').at(-1) ?? '',
    timeMs: Date.parse(time),
    type,
    notice: digest ? 'digest' : resolved ? 'resolved' : undefined,
    ids: digest?.items.map((it: { id: string }) => it.id) ?? [],
    count: digest?.count ?? 0,
  }
}

const itemsOf = ({ id, notice, ids }: Told) => (notice === 'digest' ? ids : [id])
const partOf = (id: string) => createHash('sha256').update(id).digest().readUInt32BE(0) / 2 ** 32

/** The first arrival of each id, in order of arrival: after a fault some deliveries are repeated. */
export function firstOf<T extends { id: string }>(arrivals: readonly T[]): T[] {
  const seen = new Set<string>()
  return arrivals.filter(({ id }) => {
    const isFirst = !seen.has(id)
    seen.add(id)
    return isFirst
  })
}
