import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A webhook in a process of its own: answers 200 after a while, counts, and tells delays of paced feeds on /stats. */
const delayMs = Number(process.argv[2] ?? 0)
const delays: number[] = []
let count = 0

const server = createServer((request, response) => {
  if (request.url === '/stats') {
    delays.sort((a, b) => a - b)
    const at = (share: number) => delays[Math.floor(delays.length * share)] ?? 0
    return response.end(JSON.stringify({ count, p50: at(0.5), p99: at(0.99) }))
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    count++
    const time = /"time":"([^"]+)"/.exec(Buffer.concat(chunks).toString('latin1', 0, 2_000))?.[1]
    if (time) delays.push(Date.now() - Date.parse(time))
    if (delayMs > 0) setTimeout(() => response.end(), delayMs)
    else response.end()
  })
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit(0))
