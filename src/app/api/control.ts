import type { Redis } from 'ioredis'
import type { Config } from '../../config/schema.ts'
import { type Silence as StoredSilence, silenceStateAt } from '../../model/control.ts'
import { checkSilence } from '../../rules/silences/check-silence.ts'
import { acknowledgeIncident, listIncidents } from '../../store/control/incidents.ts'
import {
  addSilence,
  expireSilence,
  type ListedSilence,
  listSilences,
  MAX_BYTES,
  SilenceRefusedError,
} from '../../store/control/silences.ts'
import type { Keys } from '../../store/keys.ts'
import type { Acknowledgement, Incident, Incidents, NewSilence, Silence } from './contract.ts'
import { ApiError } from './routes.ts'

interface Queue {
  redis: Redis
  keys: Keys
}

/** The silences that are in force or to come. */
export async function silencesOf({ redis, keys }: Queue): Promise<Silence[]> {
  const stored = await listSilences(redis, keys)
  return stored.flatMap((it) => (it.state === 'ended' ? [] : [listedOf(it)]))
}

function listedOf({ suppressed, untested, ...silence }: ListedSilence): Silence {
  return { ...itemOf(silence), suppressed, ...(untested !== undefined && { untested }) }
}

function itemOf({ id, match, fromMs, untilMs, reason, by }: StoredSilence): Silence {
  const state = silenceStateAt({ fromMs, untilMs }, Date.now())
  return { id, match: { ...match }, fromMs, untilMs, reason, by, state }
}

/** Adds a silence in the name of a caller. Throws an ApiError with what is wrong with it. */
export async function silenceOf(
  { redis, keys }: Queue,
  { match, all, untilMs, reason, fromMs = Date.now() }: NewSilence,
  by: string,
  { rules, sinks }: Pick<Config, 'rules' | 'sinks'>,
): Promise<Silence> {
  // Before its patterns are compiled: that takes time for each.
  if (bytesOf(match) > MAX_BYTES)
    throw new ApiError(
      409,
      `body.match: is larger than ${MAX_BYTES} bytes: use patterns, or several silences`,
    )
  const known = { rules: rules.map(({ name }) => name), sinks: sinks.map(({ name }) => name) }
  const checked = checkSilence({ match, fromMs, untilMs, reason, by, ...(all && { all }) }, known, Date.now())
  if (!checked.ok) {
    const [{ path, message, hint } = { path: [], message: 'is not valid', hint: undefined }] = checked.faults
    throw new ApiError(400, `body.${path.join('.')}: ${message}${hint === undefined ? '' : `; ${hint}`}`)
  }
  try {
    return itemOf(await addSilence(redis, keys, checked.value))
  } catch (error) {
    if (error instanceof SilenceRefusedError) throw new ApiError(409, error.message)
    throw error
  }
}

/** What has too many levels for JSON is too large, too. */
function bytesOf(match: NewSilence['match']): number {
  try {
    return Buffer.byteLength(JSON.stringify(match))
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

export async function endSilence({ redis, keys }: Queue, id: string): Promise<void> {
  if (!(await expireSilence(redis, keys, id))) throw new ApiError(404, 'there is no such silence')
}

export async function incidentsOf({ redis, keys }: Queue): Promise<Incidents> {
  return listIncidents(redis, keys)
}

/** Acknowledges an incident in the name of a caller, and returns it. */
export async function acknowledge(
  queue: Queue,
  { rule, key, reason }: Acknowledgement,
  by: string,
): Promise<Incident> {
  const acknowledged = { by, atMs: Date.now(), ...(reason !== undefined && { reason }) }
  const incident = await acknowledgeIncident(queue.redis, queue.keys, { rule, key }, acknowledged)
  if (!incident) throw new ApiError(404, 'there is no such incident, or it has ended')
  const { items } = await incidentsOf(queue)
  // The list has the name of the object, unless the incident has just ended or there are too many.
  return items.find((it) => it.rule === rule && it.key === key) ?? incident
}
