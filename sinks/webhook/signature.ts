import { createHmac } from 'node:crypto'

/**
 * The headers of Standard Webhooks 1.0.0. The id stays the same over all attempts; the timestamp is the attempt's, so
 * every attempt is signed anew, once with each secret.
 */
export function signatureHeaders(
  secrets: readonly string[],
  id: string,
  body: Buffer,
  nowMs: number,
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1_000))
  id = headerId(id)
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp }
  if (secrets.length === 0) return headers
  const signatures = secrets.map((secret) => `v1,${sign(secret, id, timestamp, body)}`)
  return { ...headers, 'webhook-signature': signatures.join(' ') }
}

function sign(secret: string, id: string, timestamp: string, body: Buffer): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
}

/** As Standard Webhooks wants it, without a full stop; ids of the API server's own making are so already. */
function headerId(id: string): string {
  if (/^[\x21-\x2d\x2f-\x7e]+$/.test(id)) return id
  return encodeURIComponent(id.toWellFormed()).replaceAll('.', '%2E')
}
