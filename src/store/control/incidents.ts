import type { Redis } from 'ioredis'
import type { Acknowledgement, Incident } from '../../model/control.ts'
import { readAcknowledgement, type StoredAcknowledgement } from '../../rules/limits/acknowledged.ts'
import {
  type ForResolveState,
  type IncidentObject,
  objectOf,
  type ResolveAfterState,
  readState,
} from '../../rules/limits/states.ts'
import { objectTitle } from '../../text/object-title.ts'
import { decodeIndexEntry } from '../commit/index-entries.ts'
import { readSource } from '../commit/stored-json.ts'
import type { Keys } from '../keys.ts'
import { decodeState, ruleOfOwn, ruleOfShared, scored, withText } from '../limits/limit-states.ts'
import { LAYOUT } from '../redis/layout.ts'
import { readHash, scanHash } from '../redis/scan.ts'
import { evalScript, valuesOf } from '../redis/script.ts'

/** The open incidents that were found: `isComplete` is false if there are more states than were read. */
interface Incidents {
  items: Incident[]
  isComplete: boolean
}

/** About how many states are read, of each kind. */
const MOST_READ = 10_000
const PAGE = 100
/** Most states that are looked at for it are of other rules, and are not returned. */
const WANTED_PAGE = 1_000

/** Replaces a shared state that has not changed, and counts that, so that a commit that has read it is evaluated again. */
const REPLACE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('INCR', KEYS[2])
return 1
`

/**
 * Returns the open incidents of rules with `resolve` or `for`, the oldest first. Those that are open all the time are found: SCAN
 * guarantees that, while ranks change with each state. Only while a source is adopted, its incidents may be missing.
 */
export async function listIncidents(redis: Redis, keys: Keys): Promise<Incidents> {
  const shared = await readShared(redis, keys)
  const own = await readOwn(redis, keys)
  const items = [...shared.items, ...own.items]
  return {
    items: items.toSorted((a, b) => a.sinceMs - b.sinceMs || (a.key < b.key ? -1 : 1)),
    isComplete: shared.isComplete && own.isComplete,
  }
}

/** The incidents that are looked for. */
interface Wanted {
  rule: string
  isAbout(object: IncidentObject): boolean
}

/**
 * Returns the open incidents of a rule that are about such an object: a notification or the last event is. All states of the rule are read,
 * however many there are.
 */
export async function findIncidents(redis: Redis, keys: Keys, wanted: Wanted): Promise<Incident[]> {
  const shared = await readShared(redis, keys, wanted)
  const own = await readOwn(redis, keys, wanted)
  return [...shared.items, ...own.items]
}

/**
 * Acknowledges an open incident: until it ends, its rule sends nothing more of it but the resolve notification. Returns the incident, of
 * one object without its name; undefined if there is no such incident (any more). A second acknowledgement replaces the first.
 */
export async function acknowledgeIncident(
  redis: Redis,
  keys: Keys,
  { rule, key }: Pick<Incident, 'rule' | 'key'>,
  by: Acknowledgement,
): Promise<Incident | undefined> {
  if (ruleOfShared(key) === rule) return acknowledgeShared(redis, keys, key, by)
  if (ruleOfOwn(key) !== rule) return undefined
  return acknowledgeOwn(redis, keys, key, by)
}

/** A name that was typed can be a pattern of Redis, so that others match it, too. */
function isWanted(wanted: Wanted | undefined, rule: string, objects: readonly IncidentObject[]): boolean {
  return !wanted || (wanted.rule === rule && objects.some(wanted.isAbout))
}

/** Incidents of `resolve: {after}` each have a timer. */
async function readShared(redis: Redis, keys: Keys, wanted?: Wanted): Promise<Incidents> {
  const [pattern, step] = wanted ? [`${wanted.rule}:*`, WANTED_PAGE] : ['*', PAGE]
  const found = new Map<string, Incident>()
  let read = 0
  for (let cursor: string | undefined; cursor !== '0'; ) {
    if (!wanted && read >= MOST_READ) return { items: [...found.values()], isComplete: false }
    const [next, flat] = await redis.zscan(keys.limitTimers, cursor ?? '0', 'MATCH', pattern, 'COUNT', step)
    const page = scored(flat).map(({ key }) => key)
    const values = page.length > 0 ? await redis.mgetBuffer(...page.map(keys.limit)) : []
    for (const [i, key] of page.entries()) {
      const state = stateIn(values[i])
      if (state?.limit !== 'resolve-after') continue
      if (isWanted(wanted, state.rule, objectsOf(state))) found.set(key, ofResolveAfter(key, state))
    }
    read += page.length
    cursor = next
  }
  return { items: [...found.values()], isComplete: true }
}

function ofResolveAfter(key: string, { rule, sinceMs, sent, last, ack }: ResolveAfterState): Incident {
  return {
    rule,
    key,
    object: objectText(objectOf(last.header)),
    sinceMs,
    notifications: sent,
    ...(ack && { acknowledged: ack }),
  }
}

function objectsOf({ last, about = [] }: ResolveAfterState): IncidentObject[] {
  const { kind = '', namespace, name = '' } = objectOf(last.header)
  return [{ kind, namespace, name }, ...about]
}

function ofForResolve(key: string, { rule, sinceMs, open }: ForResolveState): Incident {
  return { rule, key, sinceMs, notifications: open ? 1 : 0 }
}

async function acknowledgeShared(
  redis: Redis,
  keys: Keys,
  key: string,
  by: Acknowledgement,
): Promise<Incident | undefined> {
  for (;;) {
    const stored = await redis.getBuffer(keys.limit(key))
    const state = stateIn(stored)
    if (!stored || state?.limit !== 'resolve-after') return undefined
    const acknowledged = { ...state, ack: by }
    const next = withText(stored, JSON.stringify(acknowledged))
    const isReplaced = await evalScript(redis, REPLACE, [keys.limit(key), keys.limitsMoved], [stored, next])
    if (Number(isReplaced) === 1) return ofResolveAfter(key, acknowledged)
  }
}

async function acknowledgeOwn(
  redis: Redis,
  keys: Keys,
  key: string,
  by: Acknowledgement,
): Promise<Incident | undefined> {
  const [values = []] = await readOwnStates(redis, keys, [key])
  const state = values.map(stateIn).findLast(isOpen)
  if (!state) return undefined
  const stored: StoredAcknowledgement = { ...by, sinceMs: state.sinceMs }
  await redis.hset(keys.acknowledged, key, JSON.stringify(stored))
  return { ...ofForResolve(key, state), acknowledged: by }
}

/** Returns for each key the states that all sources have, as they are at one moment: an adoption moves them from one source to another. */
async function readOwnStates(redis: Redis, keys: Keys, names: readonly string[]): Promise<Buffer[][]> {
  for (let sources = await redis.hkeys(keys.sources); ; ) {
    const transaction = redis.multi().hkeys(keys.sources)
    for (const source of sources) transaction.hmgetBuffer(keys.ownLimits(source), ...names)
    const [current, ...rows] = valuesOf(await transaction.exec()) as [string[], ...(Buffer | null)[][]]
    if (new Set(current).isSubsetOf(new Set(sources)))
      return names.map((_, i) => rows.flatMap((row) => row[i] ?? []))
    sources = current
  }
}

/** Only reads: Redis can refuse writes. */
async function readOwn(redis: Redis, keys: Keys, wanted?: Wanted): Promise<Incidents> {
  const acknowledged = await readHash(redis, keys.acknowledged)
  /** A state that is moved from source to source meanwhile is found twice. */
  const found = new Map<string, Incident>()
  let read = 0
  for (const [source, text] of await readHash(redis, keys.sources)) {
    const kind = readSource(source, text)?.resource.kind
    const own = new Map<string, Incident>()
    let cursor: string | undefined
    while (cursor !== '0' && (wanted || read < MOST_READ)) {
      const { next, count, open } = await openIn(redis, keys, source, cursor ?? '0', wanted?.rule)
      for (const { key, state, name } of open) {
        if (!isWanted(wanted, state.rule, name ? [{ kind: kind ?? '', ...name }] : [])) continue
        const ack = acknowledgementIn(acknowledged.get(key), state)
        own.set(key, {
          ...ofForResolve(key, state),
          ...(name && { object: objectText({ kind, ...name }) }),
          ...(ack && { acknowledged: ack }),
        })
      }
      read += count
      cursor = next
    }
    for (const it of own.values()) found.set(`${it.sinceMs} ${it.key}`, it)
    if (cursor !== '0') return { items: [...found.values()], isComplete: false }
  }
  return { items: [...found.values()], isComplete: true }
}

async function openIn(redis: Redis, keys: Keys, source: string, cursor: string, rule: string | undefined) {
  const [pattern, step] = rule === undefined ? ['*', PAGE] : [`*:${rule}`, WANTED_PAGE]
  const reply = await redis.hscanBuffer(keys.ownLimits(source), cursor, 'MATCH', pattern, 'COUNT', step)
  const [next, flat] = reply as [Buffer, Buffer[]]
  const open: { key: string; state: ForResolveState }[] = []
  for (let i = 0; i < flat.length; i += 2) {
    const state = stateIn(flat[i + 1])
    if (isOpen(state)) open.push({ key: String(flat[i]), state })
  }
  const uids = open.map(({ key }) => uidOf(key))
  const entries = uids.length > 0 ? await redis.hmget(keys.index(source), ...uids) : []
  return {
    next: next.toString(),
    count: flat.length / 2,
    open: open.map((it, i) => {
      const entry = entries[i]
      return { ...it, name: entry ? decodeIndexEntry(entry) : undefined }
    }),
  }
}

function stateIn(value: Buffer | null | undefined) {
  const stored = decodeState(value, 0)
  const read = stored && readState(stored.text())
  return read && 'state' in read ? read.state : undefined
}

/** Neither does it wait for `for`, nor is its resolve notification due. */
function isOpen(state: ReturnType<typeof stateIn>): state is ForResolveState {
  return state?.limit === 'for-resolve' && !state.pending && !state.over
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

/** Acknowledgements whose states are read together, in all sources. */
const ACKNOWLEDGEMENTS_PAGE = 50

/** Deletes those that are as they were read: a recurring incident can have a new one. A newer layout may have their states elsewhere. */
const FORGET = `
local layout = redis.call('GET', KEYS[2])
if layout and layout ~= ARGV[1] then return 0 end
local count = 0
for i = 2, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
    count = count + redis.call('HDEL', KEYS[1], ARGV[i])
  end
end
return count
`

/** Deletes acknowledgements of incidents of single objects that have ended. Returns how many. */
export async function forgetAcknowledgements(redis: Redis, keys: Keys): Promise<number> {
  let forgotten = 0
  for await (const found of scanHash(redis, keys.acknowledged))
    for (let start = 0; start < found.length; start += ACKNOWLEDGEMENTS_PAGE) {
      const page = found.slice(start, start + ACKNOWLEDGEMENTS_PAGE)
      const states = await readOwnStates(
        redis,
        keys,
        page.map(([key]) => key),
      )
      const outdated = page.filter(([, text], i) => isOutdated(text, states[i] ?? []))
      if (outdated.length === 0) continue
      const names = [keys.acknowledged, keys.schema]
      forgotten += Number(await evalScript(redis, FORGET, names, [LAYOUT, ...outdated.flat()]))
    }
  return forgotten
}

/** Whether no source has the state of its incident any more. An end that was not sent can be revoked; a state that cannot be read may be it. */
function isOutdated(text: string, values: readonly Buffer[]): boolean {
  const sinceMs = readAcknowledgement(text)?.sinceMs
  return values.every((value) => {
    const state = stateIn(value)
    return state !== undefined && (state.limit !== 'for-resolve' || state.sinceMs !== sinceMs)
  })
}
