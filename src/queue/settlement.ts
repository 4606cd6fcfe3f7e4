import { redactMessage } from '../redact.ts'
import { encodeEntries } from './entry.ts'
import { encodePlaces, type Head, type Item, triesField } from './lane-batch.ts'
import type { Verdict } from './outcomes.ts'
import type { Settlement } from './settle.ts'

/** What a verdict means for the lane as it lies in Redis; notes in `head` what is settled. */
export function settlementOf(
  sink: string,
  lane: string,
  head: Head,
  verdict: Verdict<Item>,
  signal: AbortSignal,
  nowMs: number,
): Settlement {
  const settled = [...verdict.delivered, ...verdict.dead.map(({ item }) => item)]
  const tries = new Map(verdict.tried.map(({ item, tries }) => [triesField(item), tries]))
  for (const item of settled) if (item.tries > 0) tries.set(triesField(item), 0)
  const { finished, partial } = noteSettled(head, settled)
  const dead = verdict.dead.map(({ item, reason, detail }) => ({
    rule: item.delivery.rule,
    reason,
    detail: redactMessage(detail),
    atMs: nowMs,
    payload: (encodeEntries([item.delivery])[0] as { payload: Buffer }).payload,
    count: 1,
  }))
  const failing = failingNote(head, verdict, signal, nowMs)
  return { sink, lane, finished, partial, tries, failing, delivered: verdict.delivered.length, dead }
}

/** Makes dead letters of what cannot be read, and ends entries of which nothing is left. */
export function settlementOfUnreadable(sink: string, lane: string, head: Head, nowMs: number): Settlement {
  const { unreadable } = head
  const settled = unreadable.flatMap(({ entryId, places }) => places.map((place) => ({ entryId, place })))
  const { finished, partial } = noteSettled(head, settled)
  return {
    ...{ sink, lane, partial, tries: new Map(), failing: 'keep', delivered: 0 },
    finished: [...finished, ...head.finished],
    dead: unreadable.map(({ detail, payload, places }) => ({
      ...{ rule: '', reason: 'unreadable', atMs: nowMs, payload, count: places.length },
      detail: detail.slice(0, 2_048),
    })),
  }
}

/** Notes in `head` what is settled: the entries that end with it, and those of which something is left. */
function noteSettled(head: Head, settled: readonly { entryId: string; place: number }[]) {
  const partial = new Map<string, string>()
  const finished: string[] = []
  for (const { entryId, place } of settled) head.entries.get(entryId)?.settled.add(place)
  for (const id of new Set(settled.map(({ entryId }) => entryId))) {
    const entry = head.entries.get(id)
    if (!entry) continue
    if (entry.settled.size === entry.count) finished.push(id)
    else partial.set(id, encodePlaces(entry.settled))
  }
  return { finished, partial }
}

/** An outage is noted; that single events fail is none. */
function failingNote(
  head: Head,
  { answered, failure, tried }: Verdict<Item>,
  { aborted }: AbortSignal,
  nowMs: number,
): Settlement['failing'] {
  if (answered) return head.failingSinceMs === undefined ? 'keep' : 'over'
  if (!failure || aborted || tried.length > 0) return 'keep'
  return { sinceMs: head.failingSinceMs ?? nowMs, lastMs: nowMs }
}
