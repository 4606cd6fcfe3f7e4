import type { Delivery } from '../../model/delivery.ts'
import type { HistoryRecord } from '../../model/history-record.ts'
import type { Caller } from '../../observe/server/access.ts'
import { LAST_FAILURE } from '../../store/lanes/delivery-policy.ts'

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

/** Returns the text of a dead letter as a caller may read it: the last failure of the sink may be of an object of others. */
export function visibleDetail({ namespaces }: Reader, detail: string): string {
  return namespaces ? (detail.split(LAST_FAILURE, 1)[0] ?? '') : detail
}

/**
 * Returns the record as a caller may read it; undefined if it may not. A failed attempt may be a call for several objects, whose answer names any
 * of them. A digest is of objects of several namespaces: those of others are left out, and with them the texts that may name them.
 */
export function visibleRecord(caller: Reader, record: HistoryRecord): HistoryRecord | undefined {
  const { namespaces } = caller
  if (!namespaces) return record
  if (!mayRead(caller, record.event)) return undefined
  const { notice, detail } = record
  const own: HistoryRecord = {
    ...record,
    ...(detail !== undefined && { detail: visibleDetail(caller, detail) }),
    attempts: record.attempts.map((it) => (it.error === undefined ? it : { ...it, error: 'failed' })),
  }
  if (notice?.kind !== 'digest') return own
  const objects = notice.objects.filter((object) => namespaces.includes(object.split('/')[1] ?? ''))
  if (objects.length === notice.objects.length && notice.count <= objects.length) return own
  const { title: _, detail: __, ...rest } = own
  return { ...rest, notice: { ...notice, objects } }
}
