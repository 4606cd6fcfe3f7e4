import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createAuthority } from '../servers/certificates.ts'

// A kubelet in a process of its own, which answers each request for a log after a number of milliseconds, its argument. Prints its port,
// and sends "log" to its parent for each request.
const waitMs = Number(process.argv[2])
const LOG = `${'a line of the log of a process that ended'.padEnd(120, '.')}\n`.repeat(20)

const server = createServer(createAuthority('kubelet').issue('kubelet'), (_, response) => {
  process.send?.('log')
  setTimeout(() => response.end(LOG), waitMs)
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit(0))
