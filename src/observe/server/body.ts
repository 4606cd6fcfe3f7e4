import type { IncomingMessage } from 'node:http'

/** A body that is not read: its status and what is wrong. */
export class BodyError extends Error {
  override name = 'BodyError'
  readonly status: 400 | 413 | 415

  constructor(status: BodyError['status'], message: string) {
    super(message)
    this.status = status
  }
}

const MAX_BYTES = 65_536

/** Returns the JSON of a request. A form or text of another site cannot be sent as JSON without asking first. Throws a BodyError. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const {
    'content-type': type = '',
    'content-encoding': encoding,
    'content-length': length,
  } = request.headers
  if (!/^application\/json\s*(;\s*charset=utf-8\s*)?$/i.test(type))
    throw new BodyError(415, 'needs "Content-Type: application/json"')
  if (encoding !== undefined && encoding !== 'identity') throw new BodyError(415, 'must not be compressed')
  const tooLarge = () => new BodyError(413, `is larger than ${MAX_BYTES} bytes`)
  if (Number(length) > MAX_BYTES) throw tooLarge()
  const chunks: Buffer[] = []
  let bytes = 0
  // Leaving a loop over the request itself would cut the connection off, without the answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += (chunk as Buffer).length
    if (bytes > MAX_BYTES) throw tooLarge()
    chunks.push(chunk as Buffer)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString())
  } catch {
    throw new BodyError(400, 'is not JSON')
  }
}
