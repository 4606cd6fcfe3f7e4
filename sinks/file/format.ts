import type { Message } from '../../src/sink/index.ts'

const LINE_FEED = 0x0a
const BLANK = 0x20

/** A CloudEvent on one line. What stands between two values in JSON may be a line feed; within a text it cannot. */
export function lineOf({ cloudEvent }: Pick<Message, 'cloudEvent'>): Buffer {
  const line = Buffer.allocUnsafe(cloudEvent.length + 1)
  cloudEvent.copy(line)
  for (
    let at = line.indexOf(LINE_FEED);
    at !== -1 && at < cloudEvent.length;
    at = line.indexOf(LINE_FEED, at)
  )
    line[at] = BLANK
  line[cloudEvent.length] = LINE_FEED
  return line
}

/** Lines that are written at once, in order. */
export interface Group {
  lines: readonly Buffer[]
  bytes: number
}

const MAX_GROUP_BYTES = 1024 * 1024

/** Groups of about 1 MiB that fit into a file; a line that is longer has a group of its own. */
export function groupsOf(lines: Iterable<Buffer>, maxBytes: number): Group[] {
  const limit = Math.min(maxBytes, MAX_GROUP_BYTES)
  const groups: Group[] = []
  let [current, bytes]: [Buffer[], number] = [[], 0]
  for (const line of lines) {
    if (current.length > 0 && bytes + line.length > limit) {
      groups.push({ lines: current, bytes })
      ;[current, bytes] = [[], 0]
    }
    current.push(line)
    bytes += line.length
  }
  if (current.length > 0) groups.push({ lines: current, bytes })
  return groups
}
