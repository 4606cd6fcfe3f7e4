import type { Delivery } from '../../model/delivery.ts'
import type { HistoryRecord } from '../../model/history-record.ts'
import type { Caller } from '../../observe/server/access.ts'

/** What of an event decides who may read it. */
interface Placed {
  namespace?: string | undefined
  regarding?: { namespace?: string | undefined } | undefined
  event?: { regarding?: { namespace?: string } } | undefined
}

type Reader = Pick<Caller, 'namespaces'>

/** Whether a caller may read of an event: its namespace, and that of the object that it regards, are among its own. */
export function mayRead({ namespaces }: Reader, event: Placed): boolean {
  if (!namespaces) return true
  const regarding = (event.regarding ?? event.event?.regarding)?.namespace
  if (event.namespace === undefined || !namespaces.includes(event.namespace)) return false
  return !regarding || namespaces.includes(regarding)
}

/** Whether a caller may read all of a stored delivery: a digest is of objects of several namespaces. */
export function mayReadAll(reader: Reader, { event, notice }: Pick<Delivery, 'event' | 'notice'>): boolean {
  if (!reader.namespaces) return true
  if (!mayRead(reader, event)) return false
  if (notice?.kind !== 'digest') return true
  return notice.count <= notice.items.length && notice.items.every((item) => mayRead(reader, item))
}

/**
 * Returns the record as a caller may read it; undefined if it may not. A digest is of objects of several namespaces: those of others are
 * left out, and with them the texts that may name them.
 */
export function visibleRecord(caller: Reader, record: HistoryRecord): HistoryRecord | undefined {
  const { namespaces } = caller
  if (!namespaces) return record
  if (!mayRead(caller, record.event)) return undefined
  const { notice } = record
  if (notice?.kind !== 'digest') return record
  const objects = notice.objects.filter((object) => namespaces.includes(object.split('/')[1] ?? ''))
  if (objects.length === notice.objects.length && notice.count <= objects.length) return record
  const { title: _, detail: __, ...rest } = record
  return {
    ...rest,
    attempts: record.attempts.map(({ error, ...it }) =>
      error === undefined ? it : { ...it, error: 'failed' },
    ),
    notice: { ...notice, objects },
  }
}
