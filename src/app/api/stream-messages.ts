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
    const at = position
    const { record } = it
    let whole: string | undefined
    return {
      record,
      end: at,
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
  /** The position behind it. */
  end: Position
  /** Records of it, also those that are not wanted. */
  passed: number
}

const PORTION_BYTES = 32_768

/**
 * Makes each portion of what a client gets when it is asked for; `accepts` returns what it may read of a record that it wants. The last one has
 * no bytes where no more records are wanted.
 */
export function* portionsOf(
  records: readonly Outgoing[],
  accepts: (record: HistoryRecord) => HistoryRecord | undefined,
): Generator<Portion> {
  let [text, count, passed] = ['', 0, 0]
  for (const [i, { record, end, textFor }] of records.entries()) {
    passed++
    const visible = accepts(record)
    if (visible) {
      text += textFor(visible)
      count++
    }
    if (text.length < PORTION_BYTES && i < records.length - 1) continue
    yield { bytes: Buffer.from(text), count, end, passed }
    ;[text, count, passed] = ['', 0, 0]
  }
}
