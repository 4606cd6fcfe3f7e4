import type { Redis } from 'ioredis'
import type { Caller } from '../../observe/server/access.ts'
import type { Keys } from '../../store/keys.ts'
import { dropDeadLetter, NoLaneError, retryDeadLetter } from '../../store/lanes/dead-letter-actions.ts'
import { deadLettersBefore, summarizeDeadLetters } from '../../store/lanes/dead-letter-names.ts'
import { deadLettersByAge, findDeadLetter, type StoredDeadLetter } from '../../store/lanes/dead-letters.ts'
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
import { mayRead, mayReadAll } from './scope.ts'

interface Queue {
  redis: Redis
  keys: Keys
}
type Reader = Pick<Caller, 'namespaces'>

const MAX_OBJECT = 200_000
/** One request changes so many, for so long. */
const MOST_CHANGED = 500
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
  const letters: StoredDeadLetter[] = []
  const endMs = performance.now() + WITHIN_MS
  let next: string | undefined
  for await (const letter of deadLettersBefore(redis, keys, filter, cursor)) {
    if (isVisible(caller, letter)) letters.push(letter)
    if (letters.length < limit && performance.now() < endMs) continue
    next = letter.id
    break
  }
  const items = letters.map((it) => itemOf(it, caller))
  const page = { items, ...(next !== undefined && { next }) }
  // To count those of some namespaces each one would have to be unpacked.
  if (caller.namespaces)
    return { ...page, ...groupsOf(letters), isComplete: next === undefined && cursor === undefined }
  return { ...page, ...(await summarizeDeadLetters(redis, keys, filter, WITHIN_MS / 2)) }
}

function groupsOf(letters: readonly StoredDeadLetter[]): Pick<DeadLetters, 'groups' | 'total'> {
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
  const detail = !delivery || mayReadAll(caller, delivery) ? letter.detail : OF_OTHERS
  const about = { id, sink, rule, reason, detail, atMs: Math.max(0, Math.round(atMs)), count }
  if (!delivery) return about
  const { notice, event } = delivery
  const { kind, name, namespace } = event.event?.regarding ?? {}
  return {
    ...about,
    event: {
      ...{ id: event.id, type: event.type, apiVersion: event.apiVersion, kind: event.kind },
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
    isCut: (object?.length ?? 0) > MAX_OBJECT,
  }
}

type Change = (redis: Redis, keys: Keys, letter: StoredDeadLetter) => Promise<boolean>
export const CHANGES = { retry: retryDeadLetter, drop: dropDeadLetter } satisfies Record<string, Change>

/** Retries or drops the chosen ones, the oldest first: those of an object keep their order. `left` if there are more than one request changes. */
export async function changeDeadLetters(
  queue: Queue,
  choice: DeadLetterChoice,
  change: Change,
  caller: Reader,
): Promise<DeadLettersDone> {
  const failed: DeadLettersDone['failed'] = []
  const endMs = performance.now() + WITHIN_MS
  const timeSlice = new TimeSlice()
  let done = 0
  for await (const letter of chosen(queue, choice, failed)) {
    if (done + failed.length >= MOST_CHANGED || performance.now() > endMs) return { done, failed, left: true }
    if (!isVisible(caller, letter)) {
      if ('ids' in choice) failed.push({ id: letter.id, detail: GONE })
      continue
    }
    if (letter.delivery && !mayReadAll(caller, letter.delivery)) {
      if ('ids' in choice) failed.push({ id: letter.id, detail: OF_OTHERS })
      continue
    }
    try {
      if (await change(queue.redis, queue.keys, letter)) done++
      else failed.push({ id: letter.id, detail: GONE })
    } catch (error) {
      if (!(error instanceof NoLaneError)) throw error
      failed.push({ id: letter.id, detail: error.message })
    }
    if (timeSlice.isDue()) await timeSlice.take()
  }
  return { done, failed, left: false }
}

const GONE = 'there is no such dead letter'
/** Of a digest. */
const OF_OTHERS = 'it is also about objects of other namespaces'

async function* chosen(
  { redis, keys }: Queue,
  choice: DeadLetterChoice,
  failed: DeadLettersDone['failed'],
): AsyncGenerator<StoredDeadLetter> {
  if (!('ids' in choice)) {
    const { all: _, ...filter } = choice
    return yield* deadLettersByAge(redis, keys, filter)
  }
  for (const id of [...new Set(choice.ids)].toSorted(compareIds)) {
    const letter = await findDeadLetter(redis, keys, id)
    if (letter) yield letter
    else failed.push({ id, detail: GONE })
  }
}

function compareIds(a: string, b: string): number {
  const [aMs = 0, aSequence = 0] = a.split('-').map(Number)
  const [bMs = 0, bSequence = 0] = b.split('-').map(Number)
  return aMs - bMs || aSequence - bSequence
}
