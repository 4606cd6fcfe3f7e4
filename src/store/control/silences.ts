import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import { type Silence, type SilenceState, silenceStateAt } from '../../model/control.ts'
import type { Suppression } from '../../model/limit.ts'
import type { Transaction } from '../commit/transaction.ts'
import type { Keys } from '../keys.ts'
import { evalScript, valuesOf } from '../redis/script.ts'

/** A stored silence with its state, and the numbers of events of rules that it suppressed, and that it could not test. */
export interface ListedSilence extends Silence {
  state: SilenceState
  suppressed: number
  /** Left out while there are none. */
  untested?: number
}

/** A silence without what `addSilence` chooses. Check it with `checkSilence` first. */
export type SilenceDraft = Omit<Silence, 'id' | 'createdMs'>

/** There are as many silences as are allowed, or one is too large. */
export class SilenceRefusedError extends Error {
  override name = 'SilenceRefusedError'
}

const MOST_SILENCES = 1_000
/** One silence as JSON: every process holds all of them. */
export const MAX_BYTES = 8_192
/** Time for which ended silences are kept, for `list`, and for events that are evaluated late. */
const KEEP_ENDED_MS = 86_400_000

/**
 * Adds one unless there are too many, and gives the set a new version. KEYS: silences, their version. ARGV: id, JSON, version, maximum.
 * Returns whether it was added.
 */
const ADD = `
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('SET', KEYS[2], ARGV[3])
return 1
`

/** Replaces one that has not changed. KEYS: silences, their version. ARGV: id, old JSON, new JSON, version. */
const REPLACE = `
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('SET', KEYS[2], ARGV[4])
return 1
`

/** Returns all stored silences, those that end last first; deletes those that ended more than a day ago. */
export async function listSilences(redis: Redis, keys: Keys, nowMs = Date.now()): Promise<ListedSilence[]> {
  const [stored, counts] = valuesOf(
    await redis.multi().hgetall(keys.silences).hgetall(keys.silenceCounts).exec(),
  ) as [Record<string, string>, Record<string, string>]
  const silences = silencesIn(stored)
  const isOld = ({ untilMs }: Silence) => untilMs + KEEP_ENDED_MS <= nowMs
  const old = silences.filter(isOld).map(({ id }) => id)
  // A Redis that refuses writes can be read all the same.
  if (old.length > 0)
    await redis
      .multi()
      .hdel(keys.silences, ...old)
      .hdel(keys.silenceCounts, ...old, ...old.map(untestedField))
      .exec()
      .catch(() => {})
  return silences
    .filter((it) => !isOld(it))
    .map((it) => listed(it, counts, nowMs))
    .toSorted((a, b) => b.untilMs - a.untilMs || (a.id < b.id ? -1 : 1))
}

function listed(silence: Silence, counts: Readonly<Record<string, string>>, nowMs: number): ListedSilence {
  const [suppressed = 0, untested = 0] = [silence.id, untestedField(silence.id)].map(
    (field) => Number(counts[field]) || 0,
  )
  const state = silenceStateAt(silence, nowMs)
  return { ...silence, state, suppressed, ...(untested > 0 && { untested }) }
}

/** Adds a silence. Running processes apply it within seconds. Throws SilenceRefusedError. */
export async function addSilence(
  redis: Redis,
  keys: Keys,
  draft: SilenceDraft,
  nowMs = Date.now(),
): Promise<Silence> {
  const { match, fromMs, untilMs, reason, by } = draft
  const silence: Silence = {
    id: randomBytes(4).toString('hex'),
    match,
    fromMs,
    untilMs,
    reason,
    by,
    createdMs: nowMs,
  }
  const json = JSON.stringify(silence)
  if (Buffer.byteLength(json) > MAX_BYTES)
    throw new SilenceRefusedError(
      `the silence is larger than ${MAX_BYTES} bytes: use patterns, or several silences`,
    )
  // Makes room for it.
  await listSilences(redis, keys, nowMs)
  const isAdded = await evalScript(
    redis,
    ADD,
    [keys.silences, keys.silencesVersion],
    [...[silence.id, json, newVersion(), MOST_SILENCES]],
  )
  if (Number(isAdded) === 0)
    throw new SilenceRefusedError(
      `there are ${MOST_SILENCES.toLocaleString('en')} silences, as many as are allowed; ended ones are deleted after a day`,
    )
  return silence
}

/** Ends a silence now. Returns it as it is then, also if it had ended before; undefined for an unknown id. */
export async function expireSilence(
  redis: Redis,
  keys: Keys,
  id: string,
  nowMs = Date.now(),
): Promise<Silence | undefined> {
  for (;;) {
    const stored = await redis.hget(keys.silences, id)
    const silence = stored === null ? undefined : silenceIn(id, stored)
    if (stored === null || !silence) return undefined
    if (silence.untilMs <= nowMs) return silence
    const ended: Silence = { ...silence, fromMs: Math.min(silence.fromMs, nowMs), untilMs: nowMs }
    const isReplaced = await evalScript(
      redis,
      REPLACE,
      [keys.silences, keys.silencesVersion],
      [...[id, stored, JSON.stringify(ended), newVersion()]],
    )
    if (Number(isReplaced) === 1) return ended
  }
}

/**
 * Reads the silences if their version is another than `known`; undefined if it is the same. The version is read first: a silence that is
 * added meanwhile is read again.
 */
export async function readSilences(
  redis: Redis,
  keys: Keys,
  known: string | undefined,
): Promise<{ version: string; silences: Silence[] } | undefined> {
  const version = (await redis.get(keys.silencesVersion)) ?? ''
  if (version === known) return undefined
  return { version, silences: silencesIn(await redis.hgetall(keys.silences)) }
}

/** Queues the counts of events that silences suppressed, and of those that they could not test. */
export function writeSilenceCounts(
  transaction: Transaction,
  keys: Keys,
  suppressed: readonly Suppression[],
  untested: readonly string[],
): void {
  const counts = new Map<string, number>()
  const add = (field: string) => counts.set(field, (counts.get(field) ?? 0) + 1)
  for (const { silence } of suppressed) if (silence !== undefined) add(silence)
  for (const id of untested) add(untestedField(id))
  for (const [field, count] of counts) transaction.add('HINCRBY', keys.silenceCounts, field, count)
}

function untestedField(id: string): string {
  return `${id}:untested`
}

/** Random, so that a Redis that went back to an older state has another one too. */
function newVersion(): string {
  return randomBytes(8).toString('hex')
}

function silencesIn(stored: Readonly<Record<string, string>>): Silence[] {
  return Object.entries(stored).flatMap(([id, text]) => silenceIn(id, text) ?? [])
}

/** Returns undefined for what another program or version wrote. */
function silenceIn(id: string, text: string): Silence | undefined {
  try {
    const it = JSON.parse(text) as Silence
    const isMatch = typeof it.match === 'object' && it.match !== null
    const areTimes = [it.fromMs, it.untilMs, it.createdMs].every(Number.isFinite)
    const areTexts = typeof it.reason === 'string' && typeof it.by === 'string'
    return it.id === id && isMatch && areTimes && areTexts ? it : undefined
  } catch {
    return undefined
  }
}
