import type { Redis } from 'ioredis'
import type { EventHeader } from '../../model/event.ts'
import type { HistoryEvent } from '../../model/history-record.ts'
import type { Caller } from '../../observe/server/access.ts'
import { findWaiting } from '../../store/history/find-deliveries.ts'
import { eventIdOf, historyTarget, kindsOf } from '../../store/history/history-target.ts'
import { readHistoryPage } from '../../store/history/read-history.ts'
import type { Keys } from '../../store/keys.ts'
import { listDeadLetters } from '../../store/lanes/dead-letters.ts'
import { TimeSlice } from '../../text/yielding.ts'
import type { FoundObject } from './contract.ts'
import { HISTORY_BOUNDS } from './history.ts'
import { mayRead } from './scope.ts'

const MOST_FOUND = 100
const MOST_WAITING = 5_000
const MOST_LETTERS = 1_000
const WITHIN_MS = 800

interface Known extends Omit<FoundObject, 'events'> {
  ids: Set<string>
}

/**
 * Returns objects whose kind, namespace and name have all parts of a text, or that an event id or uid names: those of the newest records,
 * of waiting deliveries and of dead letters.
 */
export async function findObjects(
  queue: { redis: Redis; keys: Keys },
  text: string,
  caller: Pick<Caller, 'namespaces'>,
): Promise<{ items: FoundObject[]; isComplete: boolean }> {
  const found = new Map<string, Known>()
  const target = isId(text) ? historyTarget(text) : undefined
  const isWanted = target ? () => true : partsFilter(text)
  const note = (event: HistoryEvent | EventHeader, atMs: number) => {
    const about = regardingOf(event)
    const { kind, namespace, name } = about ?? event
    if (!mayRead(caller, event) || !isWanted({ kind, namespace, name })) return
    const key = `${kind}/${namespace ?? ''}/${name}`
    const known = found.get(key)
    const lastMs = Math.max(atMs, known?.lastMs ?? 0)
    const apiVersion = about ? known?.apiVersion : event.apiVersion
    found.set(key, {
      kind,
      name,
      lastMs,
      ids: (known?.ids ?? new Set()).add(eventIdOf(event.id)),
      ...(namespace !== undefined && { namespace }),
      ...(apiVersion !== undefined && { apiVersion }),
    })
  }

  const endMs = performance.now() + WITHIN_MS
  const timeSlice = new TimeSlice()
  let isComplete = true
  const bounds = { ...HISTORY_BOUNDS, withinMs: WITHIN_MS }
  for await (const { record } of readHistoryPage(queue.redis, queue.keys, {
    target,
    bounds,
  })) {
    if (record) note(record.event, record.atMs)
    else isComplete = false
    if (timeSlice.isDue()) await timeSlice.take()
  }
  if (!target) {
    const noted = (event: EventHeader) => {
      note(event, Date.parse(event.time))
      return false
    }
    const bounds = { most: MOST_WAITING, withinMs: WITHIN_MS / 4 }
    const waiting = await findWaiting(queue, ({ event }) => noted(event), bounds)
    isComplete &&= waiting.isComplete
    let letters = 0
    for await (const { delivery, atMs } of listDeadLetters(queue.redis, queue.keys)) {
      if (delivery) note(delivery.event, atMs)
      if (++letters < MOST_LETTERS && performance.now() < endMs + WITHIN_MS) continue
      isComplete = false
      break
    }
  }
  const items = [...found.values()]
    .toSorted((a, b) => b.lastMs - a.lastMs)
    .map(({ ids, ...object }) => ({ ...object, events: ids.size }))
  return { items: items.slice(0, MOST_FOUND), isComplete: isComplete && items.length <= MOST_FOUND }
}

/** The object that an Event regards. */
function regardingOf(event: HistoryEvent | EventHeader) {
  const regarding = 'regarding' in event ? event.regarding : (event as EventHeader).event?.regarding
  const { kind, namespace, name } = regarding ?? {}
  return kind && name ? { kind, ...(namespace && { namespace }), name } : undefined
}

function isId(text: string): boolean {
  return historyTarget(text)?.id !== undefined || /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}

/** `deploy/shop/web`, `shop/web`, `web`: each part is in the name, the namespace or the kind, or is a short name of the kind. */
function partsFilter(text: string) {
  const parts = text
    .toLowerCase()
    .split(/[\s/]+/)
    .filter(Boolean)
  const kinds = parts.map((part) => new Set(kindsOf(part)))
  return ({ kind, namespace = '', name }: { kind: string; namespace?: string | undefined; name: string }) => {
    const lower = kind.toLowerCase()
    return parts.every(
      (part, i) =>
        name.toLowerCase().includes(part) ||
        namespace.includes(part) ||
        lower.includes(part) ||
        kinds[i]?.has(lower),
    )
  }
}
