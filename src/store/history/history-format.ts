import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Attempt, HistoryEvent, HistoryRecord } from '../../model/history-record.ts'

/**
 * An entry of the history: format (1 byte) · number of names (2) · names (4 each) · JSON, deflated where it is long: of one record
 * that takes a third of the time of zstd, for as many bytes. A name is a hash of an object that a record is about, so that Redis
 * finds the entries of an object without unpacking any.
 */
const DEFLATED_JSON = 1
const PLAIN_JSON = 2
/** One record, mostly: deflating it takes longer than all else of it, and saves a fifth of its bytes. */
const MOST_PLAIN_LENGTH = 225
const HEAD_BYTES = 3
const NAME_BYTES = 4
const MAX_NAMES = 65_535
const COMPRESSION = { level: 3, memLevel: 5, chunkSize: 1_024 }
const MAX_UNPACKED_BYTES = 16 * 2 ** 20

/** What an object is found by: its kind, namespace and name, or its uid. */
export function nameOf(kind: string, namespace: string | undefined, name: string): Buffer {
  return bytesOf(hashOfObject(kind, namespace, name))
}

export function nameOfUid(uid: string): Buffer {
  return bytesOf(hashOf(uid))
}

function hashOfObject(kind: string, namespace: string | undefined, name: string): number {
  return hashOf(`${kind.toLowerCase()}/${namespace ?? ''}/${name}`)
}

/** FNV-1a of 32 bits, over UTF-16 units: a cryptographic hash takes ten times as long, and half the time of a record. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}

function bytesOf(hash: number): Buffer {
  const name = Buffer.allocUnsafe(NAME_BYTES)
  name.writeInt32BE(hash)
  return name
}

/** Packs records in groups, such as those of the lanes that one script acknowledges. */
export function packHistory(groups: readonly (readonly HistoryRecord[])[]): Buffer {
  const hashes = new Set<number>()
  for (const records of groups)
    for (const record of records)
      for (const hash of hashesOf(record)) if (hashes.size < MAX_NAMES) hashes.add(hash)
  const baseMs = groups.find((records) => records.length > 0)?.[0]?.atMs ?? 0
  const json = JSON.stringify([
    baseMs,
    groups.map((records) => records.map((record) => rowOf(record, baseMs))),
  ])
  const isPlain = json.length <= MOST_PLAIN_LENGTH
  const head = Buffer.allocUnsafe(HEAD_BYTES + NAME_BYTES * hashes.size)
  head.writeUInt8(isPlain ? PLAIN_JSON : DEFLATED_JSON)
  let end = head.writeUInt16BE(hashes.size, 1)
  for (const hash of hashes) end = head.writeInt32BE(hash, end)
  return Buffer.concat([head, isPlain ? Buffer.from(json) : deflateRawSync(json, COMPRESSION)])
}

/** Returns the groups as they were packed; undefined for what another version wrote, or nobody can read. */
export function unpackHistory(payload: Buffer): HistoryRecord[][] | undefined {
  const [format] = payload
  if ((format !== DEFLATED_JSON && format !== PLAIN_JSON) || payload.length < HEAD_BYTES) return undefined
  try {
    const packed = payload.subarray(HEAD_BYTES + NAME_BYTES * payload.readUInt16BE(1))
    const json =
      format === PLAIN_JSON ? packed : inflateRawSync(packed, { maxOutputLength: MAX_UNPACKED_BYTES })
    const [baseMs, rows] = JSON.parse(json.toString()) as [number, Row[][]]
    return rows.map((group) => group.map((row) => recordOf(row, baseMs)))
  } catch {
    return undefined
  }
}

function hashesOf({ event, notice }: HistoryRecord): number[] {
  const { kind, namespace, name } = event.regarding ?? event
  const hashes = [hashOfObject(kind, namespace, name)]
  const uid = event.id.split('/')[1]
  if (uid) hashes.push(hashOf(uid))
  if (notice?.kind === 'digest')
    for (const object of notice.objects) {
      const [kind = '', namespace = '', name = ''] = object.split('/')
      hashes.push(hashOfObject(kind, namespace, name))
    }
  return hashes
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
  /** Rendering time of each attempt in milliseconds, if one took time for it. */
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
  const { outcome, atMs, event, rule, sinks, attempts } = record
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
  const extra = extraOf(record, baseMs)
  if (regarding || event.reason !== undefined || extra)
    row.push(
      regarding
        ? [event.reason ?? '', regarding.kind, regarding.namespace ?? '', regarding.name]
        : event.reason === undefined
          ? 0
          : [event.reason, '', '', ''],
    )
  if (extra) row.push(extra)
  return row
}

/** What few records have; JSON leaves out what is undefined. */
function extraOf(record: HistoryRecord, baseMs: number): Extra | undefined {
  const { attemptCount, reason, detail, title, note, limit, silence, notice, untilMs, isReplay } = record
  const hasRendered = record.attempts.some((it) => it.renderedMs)
  const some = attemptCount ?? reason ?? detail ?? title ?? note ?? limit ?? silence ?? notice ?? untilMs
  if (some === undefined && !isReplay && !hasRendered) return undefined
  const until = untilMs === undefined ? undefined : untilMs - baseMs
  const rendered = hasRendered ? record.attempts.map((it) => it.renderedMs ?? 0) : undefined
  const replay = isReplay && 1
  const texts = { attemptCount, reason, detail, title, note, limit, silence, notice }
  return { ...texts, replay, until, rendered } as Extra
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
