import type { Redis } from 'ioredis'
import type { Caller } from '../../observe/server/access.ts'
import type { Keys } from '../../store/keys.ts'
import { dropDeadLetter, NoLaneError, retryDeadLetter } from '../../store/lanes/dead-letter-actions.ts'
import {
  deadLetterPages,
  deadLettersBefore,
  findDeadLetter,
  newestDeadLetter,
  type StoredDeadLetter,
  summarizeDeadLetters,
} from '../../store/lanes/dead-letters.ts'
import { TimeSlice } from '../../text/yielding.ts'
import type {
  DeadLetter,
  DeadLetterChoice,
  DeadLetterDetail,
  DeadLetters,
  DeadLettersDone,
  DeadLettersQuery,
} from './contract.ts'
import { ApiError } from './routes.ts'
import { mayRead, mayReadAll, visibleDetail } from './scope.ts'

interface Queue {
  redis: Redis
  keys: Keys
}
type Reader = Pick<Caller, 'namespaces'>

const MAX_OBJECT = 200_000
/** Limits of one request: dead letters changed, dead letters read, and time. */
const MOST_CHANGED = 500
const MOST_READ = 5_000
const WITHIN_MS = 2_000
const ID = /^\d{1,16}-\d{1,16}$/

/** Without namespaces, or of one of them. What cannot be read may be of any. */
function isVisible(caller: Reader, { delivery }: StoredDeadLetter): boolean {
  return caller.namespaces === undefined || (delivery !== undefined && mayRead(caller, delivery.event))
}

export async function deadLettersPage(
  { redis, keys }: Queue,
  { cursor, limit, ...filter }: DeadLettersQuery,
  caller: Reader,
): Promise<DeadLetters> {
  if (cursor !== undefined && !ID.test(cursor))
    throw new ApiError(400, 'query.cursor: is not the `next` of an answer')
  const newest = await newestDeadLetter(redis, keys)
  if (newest === undefined) return { items: [], groups: [], total: 0, isComplete: true }
  // Not the letters: their objects may be of megabytes.
  const items: DeadLetter[] = []
  const endMs = performance.now() + WITHIN_MS
  let next: string | undefined
  for await (const letter of deadLettersBefore(redis, keys, filter, { until: newest, before: cursor })) {
    if (isVisible(caller, letter)) items.push(itemOf(letter, caller))
    if (items.length < limit && performance.now() < endMs) continue
    next = letter.id
    break
  }
  const page = { items, ...(next !== undefined && { next }) }
  // To count those of some namespaces each one would have to be unpacked. When others get some is not theirs to know.
  if (caller.namespaces) {
    const [first] = items
    const isComplete = next === undefined && cursor === undefined
    return { ...page, ...groupsOf(items), isComplete, ...(first && { newest: first.id }) }
  }
  const counted = await summarizeDeadLetters(redis, keys, filter, { until: newest, withinMs: WITHIN_MS / 2 })
  return { ...page, ...counted, newest }
}

function groupsOf(letters: readonly DeadLetter[]): Pick<DeadLetters, 'groups' | 'total'> {
  const groups = Map.groupBy(letters, ({ sink, reason }) => JSON.stringify([sink, reason]))
  return {
    total: letters.length,
    groups: [...groups.values()].map((own) => {
      const times = own.map(({ atMs }) => atMs)
      const { sink = '', reason = '' } = own[0] ?? {}
      return { sink, reason, count: own.length, oldestMs: Math.min(...times), newestMs: Math.max(...times) }
    }),
  }
}

function itemOf(
  { id, sink, rule, reason, atMs, count, delivery, ...letter }: StoredDeadLetter,
  caller: Reader,
): DeadLetter {
  const detail = !delivery || mayReadAll(caller, delivery) ? visibleDetail(caller, letter.detail) : OF_OTHERS
  const about = { id, sink, rule, reason, detail, atMs: Math.max(0, Math.round(atMs)), count }
  if (!delivery) return about
  const { notice, event } = delivery
  const { kind, name, namespace } = event.event?.regarding ?? {}
  return {
    ...about,
    event: {
      id: event.id,
      type: event.type,
      apiVersion: event.apiVersion,
      kind: event.kind,
      ...(event.namespace !== undefined && { namespace: event.namespace }),
      name: event.name,
      ...(event.event && { reason: event.event.reason }),
      ...(kind && name && { regarding: { kind, ...(namespace && { namespace }), name } }),
    },
    ...(notice && {
      notice: notice.kind === 'digest' ? { kind: notice.kind, count: notice.count } : { kind: notice.kind },
    }),
  }
}

export async function deadLetterOf(
  { redis, keys }: Queue,
  id: string,
  caller: Reader,
): Promise<DeadLetterDetail> {
  const letter = ID.test(id) ? await findDeadLetter(redis, keys, id) : undefined
  if (!letter || !isVisible(caller, letter)) throw new ApiError(404, 'there is no such dead letter')
  const object = letter.delivery?.objectJson.toString()
  return {
    ...itemOf(letter, caller),
    ...(object !== undefined && { object: object.slice(0, MAX_OBJECT).toWellFormed() }),
    isCut: (object?.length ?? 0) > MAX_OBJECT || letter.delivery?.truncated === true,
  }
}

type Change = (redis: Redis, keys: Keys, letter: StoredDeadLetter) => Promise<boolean>
export const CHANGES = { retry: retryDeadLetter, drop: dropDeadLetter } satisfies Record<string, Change>

/**
 * Retries or drops the chosen ones, the oldest first: those of an object keep their order. With `left` the request goes on behind `next`, to
 * where it began: what is rejected again does not come back into the choice, and what comes later is not part of it.
 */
export async function changeDeadLetters(
  queue: Queue,
  choice: DeadLetterChoice,
  change: Change,
  caller: Reader,
  mostRead = MOST_READ,
): Promise<DeadLettersDone> {
  const { redis, keys } = queue
  const answer: DeadLettersDone = { done: 0, failed: [], left: false }
  const one = async (letter: StoredDeadLetter, isNamed: boolean) => {
    const detail = await changeOne(queue, letter, change, caller)
    if (detail === undefined) answer.done++
    // Of others a caller learns only what it has named itself.
    else if (isNamed || isOwn(caller, letter)) answer.failed.push({ id: letter.id, detail })
  }
  const endMs = performance.now() + WITHIN_MS
  const timeSlice = new TimeSlice()
  if ('ids' in choice) {
    const ids = [...new Set(choice.ids)].toSorted(compareIds)
    for (const [i, id] of ids.entries()) {
      const isLate = performance.now() > endMs
      try {
        const letter = isLate ? undefined : await findDeadLetter(redis, keys, id)
        if (letter) await one(letter, true)
        else answer.failed.push({ id, detail: isLate ? LATE : GONE })
      } catch (error) {
        if (answer.done === 0) throw error
        // What was changed is for good: the answer and the log have it, also where Redis fails before the end.
        answer.failed.push(...ids.slice(i).map((it) => ({ id: it, detail: STOPPED })))
        return answer
      }
      if (timeSlice.isDue()) await timeSlice.take()
    }
    return answer
  }
  const { all: _, cursor, until: atMost, ...filter } = choice
  const range = await rangeOf(queue, cursor, atMost)
  if (!range) return answer
  let looked = 0
  let next = cursor
  const nextOf = (id: string) => `${id}~${range.until}`
  const isOver = () =>
    answer.done + answer.failed.length >= MOST_CHANGED || looked >= mostRead || performance.now() > endMs
  try {
    for await (const { letters, read, last } of deadLetterPages(redis, keys, filter, range)) {
      // A first page is always looked at, so that each request comes further.
      if (looked > 0 && isOver()) return { ...answer, left: true, ...(next !== undefined && { next }) }
      for (const letter of letters) {
        if (answer.done + answer.failed.length >= MOST_CHANGED)
          return { ...answer, left: true, ...(next !== undefined && { next }) }
        await one(letter, false)
        next = nextOf(letter.id)
        if (timeSlice.isDue()) await timeSlice.take()
      }
      looked += read
      next = nextOf(last)
    }
  } catch (error) {
    if (answer.done === 0) throw error
    return { ...answer, left: true, ...(next !== undefined && { next }) }
  }
  return answer
}

/** Returns what a request looks at: from behind its cursor to the newest one at the first request, or `atMost`. Undefined if there is none. */
async function rangeOf({ redis, keys }: Queue, cursor: string | undefined, atMost: string | undefined) {
  const [behind, known] = cursor?.split('~') ?? []
  const newest = known ?? (await newestDeadLetter(redis, keys))
  if (newest === undefined) return undefined
  return { behind, until: atMost !== undefined && compareIds(atMost, newest) < 0 ? atMost : newest }
}

/** Returns why a dead letter could not be changed; undefined if it was. */
async function changeOne(
  { redis, keys }: Queue,
  letter: StoredDeadLetter,
  change: Change,
  caller: Reader,
): Promise<string | undefined> {
  if (!isVisible(caller, letter)) return GONE
  if (letter.delivery && !mayReadAll(caller, letter.delivery)) return OF_OTHERS
  try {
    return (await change(redis, keys, letter)) ? undefined : GONE
  } catch (error) {
    if (error instanceof NoLaneError) return error.message
    throw error
  }
}

function isOwn(caller: Reader, letter: StoredDeadLetter): boolean {
  return isVisible(caller, letter) && (!letter.delivery || mayReadAll(caller, letter.delivery))
}

const LATE = 'it took too long: name fewer ids, or name it again'
const STOPPED = 'Redis failed before it, or while it was changed: name it again'
const GONE = 'there is no such dead letter'
/** Detail of a digest with objects that the caller may not read. */
const OF_OTHERS = 'it is also about objects of other namespaces'

function compareIds(a: string, b: string): number {
  const [aMs = 0, aSequence = 0] = a.split('-').map(Number)
  const [bMs = 0, bSequence = 0] = b.split('-').map(Number)
  return aMs - bMs || aSequence - bSequence
}
