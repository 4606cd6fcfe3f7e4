import type { HistoryRecord } from '../../model/history-record.ts'
import type { StreamGap } from './contract.ts'
import { asItem } from './history.ts'
import { type Placed, type Position, positionAfter, writePosition } from './history-tail.ts'

/** A record on its way to clients. */
export interface Outgoing {
  record: HistoryRecord
  /** The position behind it. */
  end: Position
  /** The event for a client that may read the record, or a part of it. The whole record is encoded once for all of them. */
  textFor(visible: HistoryRecord): string
}

/** Records behind a position, in their order. */
export function outgoing(from: Position, placed: readonly Placed[]): Outgoing[] {
  let position = from
  return placed.map((it) => {
    position = positionAfter(position, [it])
    const end = position
    const { record } = it
    return {
      record,
      end,
      // JSON has no line breaks: one line of data.
      textFor: (visible) =>
        `event: record\nid: ${writePosition(end)}\ndata: ${visible === record ? jsonOf(it) : encoded(visible)}\n\n`,
    }
  })
}

function jsonOf(it: Placed): string {
  it.json ??= encoded(it.record)
  return it.json
}

function encoded(record: HistoryRecord): string {
  return JSON.stringify(asItem(record))
}

export function gapText(gap: StreamGap): string {
  return `event: gap\ndata: ${JSON.stringify(gap)}\n\n`
}

/** Returns what a client may read of a record that it wants. */
export type Accepts = (record: HistoryRecord) => HistoryRecord | undefined

/** Some events, ready to be sent to all clients that want the same. */
interface Portion {
  /** None where no more records are wanted. */
  bytes: Buffer
  /** Records in it. */
  count: number
  /** Records of it, also those that are not wanted. */
  passed: number
}

const PORTION_BYTES = 32_768

/** Makes the portion that begins with one of the records. */
export function portionAt(records: readonly Outgoing[], first: number, accepts: Accepts): Portion {
  let [text, count, next] = ['', 0, first]
  for (; next < records.length && text.length < PORTION_BYTES; next++) {
    const it = records[next]
    const visible = it && accepts(it.record)
    if (!visible) continue
    text += it.textFor(visible)
    count++
  }
  return { bytes: Buffer.from(text), count, passed: next - first }
}

/** How many of the records from one on are wanted. */
export function countFrom(records: readonly Outgoing[], first: number, accepts: Accepts): number {
  return records.slice(first).filter(({ record }) => accepts(record)).length
}
