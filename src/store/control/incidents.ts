import type { Redis } from 'ioredis'
import type { Acknowledgement, Incident } from '../../model/control.ts'
import { readAcknowledgement, type StoredAcknowledgement } from '../../rules/limits/acknowledged.ts'
import { type ForResolveState, type ResolveAfterState, readState } from '../../rules/limits/states.ts'
import { objectTitle } from '../../text/object-title.ts'
import { decodeIndexEntry } from '../commit/index-entries.ts'
import { readSource } from '../commit/stored-json.ts'
import type { Keys } from '../keys.ts'
import { decodeState, ruleOfOwn, ruleOfShared, withText } from '../limits/limit-states.ts'
import { readHash } from '../redis/scan.ts'
import { evalScript } from '../redis/script.ts'

/** The open incidents that were found: `isComplete` is false if there are more states than were read. */
interface Incidents {
  items: Incident[]
  isComplete: boolean
}

/** How many states are read, of each kind. */
const MOST_READ = 10_000
const PAGE = 100

/** Replaces a shared state that has not changed, and counts that, so that a commit that has read it is evaluated again. */
const REPLACE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('INCR', KEYS[2])
return 1
`

/** Returns the open incidents of rules with `resolve` or `for`, the oldest first. */
export async function listIncidents(redis: Redis, keys: Keys): Promise<Incidents> {
  const items: Incident[] = []
  const shared = await readShared(redis, keys, (key, state) => items.push(ofResolveAfter(key, state)))
  const own = await readOwn(redis, keys, items)
  return {
    items: items.toSorted((a, b) => a.sinceMs - b.sinceMs || (a.key < b.key ? -1 : 1)),
    isComplete: shared && own,
  }
}

/**
 * Acknowledges an open incident: until it ends, its rule sends nothing more of it but the resolve notification. Returns false if there
 * is no such incident (any more). A second acknowledgement replaces the first.
 */
export async function acknowledgeIncident(
  redis: Redis,
  keys: Keys,
  { rule, key }: Pick<Incident, 'rule' | 'key'>,
  by: Acknowledgement,
): Promise<boolean> {
  if (ruleOfShared(key) === rule) return acknowledgeShared(redis, keys, key, by)
  if (ruleOfOwn(key) !== rule) return false
  return acknowledgeOwn(redis, keys, key, by)
}

/** Incidents of `resolve: {after}` each have a timer. Returns whether all were read. */
async function readShared(
  redis: Redis,
  keys: Keys,
  found: (key: string, state: ResolveAfterState) => void,
): Promise<boolean> {
  for (let start = 0; start < MOST_READ; start += PAGE) {
    const page = await redis.zrange(keys.limitTimers, String(start), String(start + PAGE - 1))
    const values = page.length > 0 ? await redis.mgetBuffer(...page.map(keys.limit)) : []
    for (const [i, key] of page.entries()) {
      const state = stateIn(values[i])
      if (state?.limit === 'quiet') found(key, state)
    }
    if (page.length < PAGE) return true
  }
  return false
}

function ofResolveAfter(key: string, { rule, sinceMs, sent, last, ack }: ResolveAfterState): Incident {
  const { kind, namespace, name, event } = last.header
  const about = event?.regarding ?? { kind, namespace, name }
  return {
    ...{ rule, key, object: objectText(about), sinceMs },
    ...(sent !== undefined && { notifications: sent }),
    ...(ack && { acknowledged: ack }),
  }
}

async function acknowledgeShared(
  redis: Redis,
  keys: Keys,
  key: string,
  by: Acknowledgement,
): Promise<boolean> {
  for (;;) {
    const stored = await redis.getBuffer(keys.limit(key))
    const state = stateIn(stored)
    if (!stored || state?.limit !== 'quiet') return false
    const next = withText(stored, JSON.stringify({ ...state, ack: by }))
    const isReplaced = await evalScript(redis, REPLACE, [keys.limit(key), keys.limitsMoved], [stored, next])
    if (Number(isReplaced) === 1) return true
  }
}

async function acknowledgeOwn(redis: Redis, keys: Keys, key: string, by: Acknowledgement): Promise<boolean> {
  let isFound = false
  for (const source of (await readHash(redis, keys.sources)).keys()) {
    const state = stateIn(await redis.hgetBuffer(keys.ownLimits(source), key))
    if (!isOpen(state)) continue
    const stored: StoredAcknowledgement = { ...by, sinceMs: state.sinceMs }
    await redis.hset(keys.acknowledged, key, JSON.stringify(stored))
    isFound = true
  }
  return isFound
}

/** Adds the open incidents of single objects; deletes acknowledgements of those that ended. Returns whether all states were read. */
async function readOwn(redis: Redis, keys: Keys, items: Incident[]): Promise<boolean> {
  const acknowledged = await readHash(redis, keys.acknowledged)
  const outdated = new Set(acknowledged.keys())
  let left = MOST_READ / PAGE
  for (const [source, text] of await readHash(redis, keys.sources)) {
    const kind = readSource(source, text)?.resource.kind
    for (let start = 0; ; start += PAGE) {
      if (left-- === 0) return false
      const page = await redis.zrange(keys.ownLimitTimers(source), String(start), String(start + PAGE - 1))
      const open = page.length > 0 ? await openIn(redis, keys, source, page) : []
      for (const { key, state, name } of open) {
        const ack = acknowledgementIn(acknowledged.get(key), state)
        if (ack) outdated.delete(key)
        items.push({
          ...{ rule: state.rule, key, sinceMs: state.sinceMs },
          ...(name && { object: objectText({ kind, ...name }) }),
          notifications: state.open ? 1 : 0,
          ...(ack && { acknowledged: ack }),
        })
      }
      if (page.length < PAGE) break
    }
  }
  // A Redis that refuses writes can be read all the same.
  if (outdated.size > 0) await redis.hdel(keys.acknowledged, ...outdated).catch(() => {})
  return true
}

async function openIn(redis: Redis, keys: Keys, source: string, page: readonly string[]) {
  const values = await redis.hmgetBuffer(keys.ownLimits(source), ...page)
  const open = page.flatMap((key, i) => {
    const state = stateIn(values[i])
    return isOpen(state) ? [{ key, state }] : []
  })
  if (open.length === 0) return []
  const entries = await redis.hmget(keys.index(source), ...open.map(({ key }) => uidOf(key)))
  return open.map((it, i) => {
    const entry = entries[i]
    return { ...it, name: entry ? decodeIndexEntry(entry) : undefined }
  })
}

function stateIn(value: Buffer | null | undefined) {
  const stored = decodeState(value, 0)
  const read = stored && readState(stored.text())
  return read && 'state' in read ? read.state : undefined
}

/** Neither does it wait for `for`, nor is its resolve notification due. */
function isOpen(state: ReturnType<typeof stateIn>): state is ForResolveState {
  return state?.limit === 'follow' && !state.pending && !state.over
}

function acknowledgementIn(
  text: string | undefined,
  { sinceMs }: ForResolveState,
): Acknowledgement | undefined {
  const stored = readAcknowledgement(text)
  if (stored?.sinceMs !== sinceMs) return undefined
  const { by, atMs, reason } = stored
  return { by, atMs, ...(reason !== undefined && { reason }) }
}

function uidOf(key: string): string {
  return key.slice(0, key.lastIndexOf(':'))
}

/** `Deployment shop/web` */
function objectText(it: {
  kind?: string | undefined
  namespace?: string | undefined
  name?: string | undefined
}): string {
  const { kind = '', namespace, name = '' } = it
  return objectTitle({ kind, namespace, name }).trim()
}
