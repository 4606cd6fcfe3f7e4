import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Written } from './format.ts'

const gzipped = promisify(gzip)
/** Smaller bodies would hardly become smaller. */
const LEAST_BYTES = 1_024

/** Returns the request with its body compressed by gzip (RFC 9110 §8.4.1.3), outside of the event loop. */
export async function compressed(written: Written): Promise<Written> {
  if (written.body.length < LEAST_BYTES) return written
  const body = await gzipped(written.body)
  return { ...written, body, headers: { ...written.headers, 'content-encoding': 'gzip' } }
}
