import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below what kernels give to connections and to `listen(0)`: there, nothing else takes a port between here and its use. */
const FIRST = 16_384
const LAST = 32_767
/** Each of the workers that run side by side has ports of its own. */
const SHARES = 16

/** A name that is not asked of any resolver, and is unknown: its label is longer than one of DNS may be. */
export const UNKNOWN_NAME = `${'nowhere'.padEnd(64, '-')}.invalid`

const share = Number(process.env['VITEST_POOL_ID'] ?? 0) % SHARES
const size = Math.floor((LAST + 1 - FIRST) / SHARES)
let next = Math.floor(Math.random() * size)

/** A loopback port that is free now; no other test that runs gets it. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < size; tries++) {
    const port = FIRST + share * size + (next++ % size)
    if (await isFree(port)) return port
  }
  throw new Error(`all ports from ${FIRST + share * size} on, ${size} of them, are taken`)
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
