/** One message of a stream of server-sent events, or, without `data`, only the position that its `id` is. */
export interface SseMessage {
  event: string
  id: string | undefined
  data: string | undefined
}

/** Longer messages are no records: they are left out, so that a server cannot fill the memory. */
const LONGEST = 2_000_000

/**
 * Returns a function that takes the text of a stream as it comes, in pieces of any size, and returns the messages and positions that are
 * complete by then. A block without data sets the position, and is no message (WHATWG HTML, 9.2.6). Comments keep a connection open.
 */
export function sseReader(): (piece: string) => SseMessage[] {
  let rest = ''
  return (piece) => {
    rest += piece
    const blocks = rest.split(/\r?\n\r?\n/)
    rest = blocks.pop() ?? ''
    if (rest.length > LONGEST) rest = ''
    return blocks.flatMap((block) => messageOf(block) ?? [])
  }
}

function messageOf(block: string): SseMessage | undefined {
  let [event, id] = ['message', undefined as string | undefined]
  const data: string[] = []
  for (const line of block.split(/\r?\n/)) {
    const colon = line.indexOf(':')
    if (colon === 0) continue
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1))
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
    else if (field === 'id') id = value
  }
  if (data.length > 0) return { event, id, data: data.join('\n') }
  return id === undefined ? undefined : { event, id, data: undefined }
}
