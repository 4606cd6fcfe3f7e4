import type { HistoryRecord } from '../../model/history-record.ts'
import type { StreamGap } from './contract.ts'
import { asItem } from './history.ts'
import { type Placed, type Position, positionAfter, writePosition } from './history-tail.ts'

/** A record on its way to clients. */
export interface Outgoing {
  record: HistoryRecord
  /** The event for a client that may read the record, or a part of it. The whole record is encoded once for all of them. */
  textFor(visible: HistoryRecord): string
}

/** Records behind a position, in their order. */
export function outgoing(from: Position, placed: readonly Placed[]): Outgoing[] {
  let position = from
  return placed.map((it) => {
    position = positionAfter(position, [it])
    const at = position
    const { record } = it
    let whole: string | undefined
    return {
      record,
      textFor(visible) {
        if (visible !== record) return recordText(at, visible)
        whole ??= recordText(at, record)
        return whole
      },
    }
  })
}

function recordText(at: Position, record: HistoryRecord): string {
  // JSON has no line breaks: one line of data.
  return `event: record\nid: ${writePosition(at)}\ndata: ${JSON.stringify(asItem(record))}\n\n`
}

export function gapText(gap: StreamGap): string {
  return `event: gap\ndata: ${JSON.stringify(gap)}\n\n`
}

/** Some events, ready to be sent to all clients that want the same. */
export interface Portion {
  bytes: Buffer
  /** Records in it. */
  count: number
}

export const PORTION_BYTES = 32_768

/** Returns what a client gets of some records; `accepts` returns what it may read of one that it wants. */
export function portionsOf(
  records: readonly Outgoing[],
  accepts: (record: HistoryRecord) => HistoryRecord | undefined,
): Portion[] {
  const portions: Portion[] = []
  let [text, count] = ['', 0]
  const end = () => {
    if (count > 0) portions.push({ bytes: Buffer.from(text), count })
    text = ''
    count = 0
  }
  for (const { record, textFor } of records) {
    const visible = accepts(record)
    if (!visible) continue
    text += textFor(visible)
    count++
    if (text.length >= PORTION_BYTES) end()
  }
  end()
  return portions
}
