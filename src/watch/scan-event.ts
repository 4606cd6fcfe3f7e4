import type { ScannedObject } from '../change.ts'
import type { KubeEventView, ObjectRef } from '../event.ts'
import { FieldTable } from './field-table.ts'
import { RawEventView, type ReadField } from './kube-event.ts'

const FIELDS = new FieldTable([
  'metadata',
  'type',
  'reason',
  'message',
  'note',
  'count',
  'deprecatedCount',
  'series',
  'eventTime',
  'firstTimestamp',
  'lastTimestamp',
  'deprecatedFirstTimestamp',
  'deprecatedLastTimestamp',
  'involvedObject',
  'regarding',
  'reportingController',
  'reportingComponent',
  'source',
  'deprecatedSource',
])

const REF = ['apiVersion', 'kind', 'namespace', 'name', 'uid', 'fieldPath'] as const
const REF_FIELDS = new FieldTable(REF)

/** An Event that is read from its bytes, field by field, without parsing it whole; undefined when they are odd. */
export function scanKubeEvent({ bytes, metadata }: ScannedObject): KubeEventView | undefined {
  const places = FIELDS.find(bytes, 0, metadata)
  if (!places) return undefined
  const read = (field: Parameters<ReadField>[0]) =>
    field === 'involvedObject' || field === 'regarding'
      ? FIELDS.read(bytes, places, field, scanRef)
      : FIELDS.read(bytes, places, field)
  return new RawEventView(read as ReadField)
}

function scanRef(bytes: Buffer, start: number): ObjectRef | undefined {
  const places = REF_FIELDS.find(bytes, start)
  return places && Object.fromEntries(REF.map((field) => [field, REF_FIELDS.read(bytes, places, field)]))
}
