import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { CALLERS, tokenOf } from './callers.ts'
import { benchPod } from './pod.ts'

// A process of its own: clients of the stream of the API, every second one with a filter of its own. They read everything and keep nothing.
// Arguments: the address, how many. Prints a line when all streams are open; answers its parent with how many bytes came.
const [base = '', countText = '0'] = process.argv.slice(2)
const count = Number(countText)
const { hostname, port } = new URL(base)
const OPENING = 50
/** All read into the same memory: they share two cores with what is measured, and must cost as little as they can. */
const SHARED = Buffer.allocUnsafe(65_536)
let bytes = 0

async function open(i: number): Promise<void> {
  const { name, namespace } = benchPod(i % 500).metadata
  const query = i % 2 === 0 ? '' : `?${new URLSearchParams({ kind: 'Pod', namespace, name })}`
  const token = tokenOf(CALLERS[i % CALLERS.length] ?? CALLERS[0])
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let head: string | undefined = ''
  const callback = (length: number) => {
    if (head === undefined) {
      bytes += length
      return true
    }
    head += SHARED.toString('latin1', 0, length)
    if (!head.includes('\nid: ')) return true
    if (head.startsWith('HTTP/1.1 200')) resolve()
    else reject(new Error(head))
    head = undefined
    return true
  }
  const socket = connect({ port: Number(port), host: hostname, onread: { buffer: SHARED, callback } })
  socket.on('error', reject)
  socket.write(
    `GET /api/v1/stream${query} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`,
  )
  return promise
}

for (let i = 0; i < count; i += OPENING)
  await Promise.all(Array.from({ length: Math.min(OPENING, count - i) }, (_, k) => open(i + k)))
// What the opening left behind is not part of the measurement.
await pause(500)
console.log('open')
process.on('message', () => process.send?.({ bytes }))
process.on('disconnect', () => process.exit(0))
