import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Attempt, HistoryEvent, HistoryRecord } from '../../model/history-record.ts'

/**
 * An entry of the history: format (1 byte) · number of names (2) · names (4 each) · deflated JSON: of one record that takes a third of the time
 * of zstd, for as many bytes. A name is a hash of an object that a
 * record is about, so that Redis finds the entries of an object without unpacking any.
 */
const DEFLATED_JSON = 1
const HEAD_BYTES = 3
const NAME_BYTES = 4
const MAX_NAMES = 65_535
const COMPRESSION = { level: 3, memLevel: 5, chunkSize: 1_024 }
const MAX_UNPACKED_BYTES = 16 * 2 ** 20

/** What an object is found by: its kind, namespace and name, or its uid. */
export function nameOf(kind: string, namespace: string | undefined, name: string): Buffer {
  return hashOf(`${kind.toLowerCase()}/${namespace ?? ''}/${name}`)
}

export function nameOfUid(uid: string): Buffer {
  return hashOf(uid)
}

/** FNV-1a of 32 bits, over UTF-16 units: a cryptographic hash takes ten times as long, and half the time of a record. */
function hashOf(text: string): Buffer {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  const name = Buffer.allocUnsafe(NAME_BYTES)
  name.writeInt32BE(hash)
  return name
}

/** Packs records in groups, such as those of the lanes that one script acknowledges. */
export function packHistory(groups: readonly (readonly HistoryRecord[])[]): Buffer {
  const names = new Map<string, Buffer>()
  for (const record of groups.flat())
    for (const name of namesOf(record)) if (names.size < MAX_NAMES) names.set(name.toString('latin1'), name)
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt8(DEFLATED_JSON)
  head.writeUInt16BE(names.size, 1)
  const baseMs = groups.flat()[0]?.atMs ?? 0
  const rows = groups.map((records) => records.map((record) => rowOf(record, baseMs)))
  const packed = deflateRawSync(JSON.stringify([baseMs, rows]), COMPRESSION)
  return Buffer.concat([head, ...names.values(), packed])
}

/** Returns the groups as they were packed; undefined for what another version wrote, or nobody can read. */
export function unpackHistory(payload: Buffer): HistoryRecord[][] | undefined {
  if (payload[0] !== DEFLATED_JSON || payload.length < HEAD_BYTES) return undefined
  try {
    const packed = payload.subarray(HEAD_BYTES + NAME_BYTES * payload.readUInt16BE(1))
    const [baseMs, rows] = JSON.parse(
      inflateRawSync(packed, { maxOutputLength: MAX_UNPACKED_BYTES }).toString(),
    ) as [number, Row[][]]
    return rows.map((group) => group.map((row) => recordOf(row, baseMs)))
  } catch {
    return undefined
  }
}

/** Whether a record is about an object of one of these names. */
export function isAbout(record: HistoryRecord, names: readonly Buffer[]): boolean {
  return namesOf(record).some((name) => names.some((it) => it.equals(name)))
}

function namesOf({ event, notice }: HistoryRecord): Buffer[] {
  const { kind, namespace, name } = event.regarding ?? event
  const uid = event.id.split('/')[1]
  const names = [nameOf(kind, namespace, name), ...(uid ? [nameOfUid(uid)] : [])]
  if (notice?.kind === 'digest')
    for (const object of notice.objects) {
      const [kind = '', namespace = '', name = ''] = object.split('/')
      names.push(nameOf(kind, namespace, name))
    }
  return names
}

const OUTCOMES = ['delivered', 'dead', 'failed', 'suppressed'] as const
const TYPES = ['ADDED', 'MODIFIED', 'DELETED'] as const

type Extra = Pick<
  HistoryRecord,
  'attemptCount' | 'reason' | 'detail' | 'title' | 'note' | 'limit' | 'silence' | 'notice'
> & {
  replay?: 1
  /** Relative, too: events of one window end at the same time. */
  until?: number
  /** Of each attempt, if one took time for it. */
  rendered?: readonly number[]
}

type Row = [
  outcome: number,
  atMs: number,
  type: number,
  id: string,
  apiVersion: string,
  kind: string,
  namespace: string,
  name: string,
  rule: string,
  sinks: string,
  attempts: (string | number)[],
  regarding?: [reason: string, kind: string, namespace: string, name: string] | 0,
  extra?: Extra,
]

/** Times are relative, sinks are joined: what repeats costs little, and numbers are short. */
function rowOf(record: HistoryRecord, baseMs: number): Row {
  const { outcome, atMs, event, rule, sinks, attempts, isReplay } = record
  const { attemptCount, reason, detail, title, note, limit, silence, notice, untilMs } = record
  const { id, type, apiVersion, kind, namespace = '', name, regarding } = event
  const row: Row = [
    OUTCOMES.indexOf(outcome),
    atMs - baseMs,
    TYPES.indexOf(type),
    id,
    apiVersion,
    kind,
    namespace,
    name,
    rule,
    sinks.join(','),
    attempts.flatMap((it) => [it.atMs - atMs, it.tookMs, it.error ?? 0]),
  ]
  const extra = Object.entries({
    attemptCount,
    reason,
    detail,
    title,
    note,
    limit,
    silence,
    notice,
    replay: isReplay && 1,
    until: untilMs === undefined ? undefined : untilMs - baseMs,
    rendered: attempts.some((it) => it.renderedMs) ? attempts.map((it) => it.renderedMs ?? 0) : undefined,
  })
  const some = extra.filter(([, value]) => value !== undefined)
  if (regarding || event.reason !== undefined || some.length > 0)
    row.push(
      regarding
        ? [event.reason ?? '', regarding.kind, regarding.namespace ?? '', regarding.name]
        : event.reason === undefined
          ? 0
          : [event.reason, '', '', ''],
    )
  if (some.length > 0) row.push(Object.fromEntries(some) as Extra)
  return row
}

function recordOf(row: Row, baseMs: number): HistoryRecord {
  const [outcome, at, type, id, apiVersion, kind, namespace, name, rule, sinks, calls, about, extra] = row
  const atMs = at + baseMs
  const [reason = '', ofKind = '', inNamespace = '', named = ''] = about || []
  const event: HistoryEvent = {
    id,
    type: TYPES[type] ?? 'MODIFIED',
    apiVersion,
    kind,
    ...(namespace && { namespace }),
    name,
    ...(reason && { reason }),
    ...(ofKind && {
      regarding: { kind: ofKind, ...(inNamespace && { namespace: inNamespace }), name: named },
    }),
  }
  const { replay, until, rendered = [], ...rest } = extra ?? {}
  const attempts: Attempt[] = []
  for (let i = 0; i < calls.length; i += 3) {
    const [ms, tookMs, error] = calls.slice(i, i + 3)
    const renderedMs = rendered[i / 3]
    attempts.push({
      atMs: atMs + Number(ms),
      tookMs: Number(tookMs),
      ...(renderedMs && { renderedMs }),
      ...(error && { error: String(error) }),
    })
  }
  return {
    outcome: OUTCOMES[outcome] ?? 'failed',
    atMs,
    event,
    rule,
    sinks: sinks === '' ? [] : sinks.split(','),
    attempts,
    ...rest,
    ...(until !== undefined && { untilMs: baseMs + until }),
    ...(replay && { isReplay: true }),
  }
}
