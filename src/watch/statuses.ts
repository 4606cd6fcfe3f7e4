import { isDeepStrictEqual } from 'node:util'
import type { WatchStatus } from '../status.ts'
import type { PlannedSource, WatchPlan } from './plan.ts'
import type { WatchEntry } from './schema.ts'

/** How long nothing may be heard of what has just begun. */
const BEGINNING_MS = 600_000

/** Of a source that has just been started. */
export function initialStatus({ key, title }: PlannedSource, nowMs: number): WatchStatus {
  return { ...statusOf(title, 'listing', false, nowMs), key }
}

/** Entries that have no source: they have just come, their kind is not there yet, or they contradict another. */
export function unresolved(
  plan: WatchPlan,
  entries: readonly WatchEntry[],
  resolved: readonly WatchEntry[],
  lastError: string | undefined,
  nowMs: number,
): WatchStatus[] {
  const status = (kind: string, phase: WatchStatus['phase'], ready: boolean, error?: string) => ({
    ...statusOf(kind, phase, ready, nowMs),
    ...(error !== undefined && { lastError: error }),
  })
  const fresh = entries.filter((entry) => !resolved.some((it) => isDeepStrictEqual(it, entry)))
  const begin = fresh.map(({ kind }) => status(kind, 'resolving', false, lastError))
  if (resolved.length === 0) return begin
  return [
    ...begin,
    ...plan.waiting.map(({ kind }) => status(kind, 'waiting-for-kind', true)),
    ...plan.unsure.map(({ kind }) =>
      status(kind, 'resolving', false, 'a part of the API that may have this kind does not answer'),
    ),
    ...plan.undecided.map(({ title, message }) => status(title, 'failing', false, message)),
    ...plan.problems.map(({ entry, message }) => status(entry.kind, 'failing', false, message)),
  ]
}

/** Until it has a source, the title is its key, too. */
function statusOf(title: string, phase: WatchStatus['phase'], ready: boolean, nowMs: number): WatchStatus {
  return {
    key: title,
    title,
    phase,
    resourceVersion: '',
    lastContactMs: 0,
    aliveUntilMs: nowMs + BEGINNING_MS,
    ready,
  }
}
