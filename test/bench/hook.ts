import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

// A webhook in a process of its own. Its argument: `0` or a number of milliseconds to wait before each answer, `delays` to
// note how long ago the change was sent, `firsts` to note when each object came first since /reset, which /firsts tells (in ms since 1970),
// `outage` to fail from /down to /up, `lines` to parse each line of a body as an event, `never` to leave everything unanswered, `faults` to fail 30 % of requests and, for the
// last 30 s of every 2 minutes, all. Tells what it knows on /stats.
const [mode = '0'] = process.argv.slice(2)
const waitMs = Number(mode)
const delays: number[] = []
/** Object → when it came first. */
const firsts = new Map<string, number>()
let count = 0

const server = createServer((request, response) => {
  if (request.url === '/stats') {
    const last = Math.max(...firsts.values())
    const { user, system } = process.cpuUsage()
    const cpuSeconds = (user + system) / 1e6
    return void response.end(
      JSON.stringify({ count, delays, objects: firsts.size, lastFirstMs: last, cpuSeconds }),
    )
  }
  if (request.url === '/firsts') return void response.end(JSON.stringify(Object.fromEntries(firsts)))
  if (request.url === '/reset') {
    firsts.clear()
    return void response.end()
  }
  if (mode === 'firsts') return noteFirst(request, response)
  if (mode === 'delays') return noteDelay(request, response)
  if (mode === 'outage') return answerUnlessDown(request, response)
  if (mode === 'lines') return parseLines(request, response)
  if (mode === 'faults') return answerOrFail(request, response)
  request.resume().on('end', () => {
    count++
    if (waitMs > 0) setTimeout(() => response.end(), waitMs)
    else if (mode !== 'never') response.end()
  })
})

/** For `firsts`: attempts that take a while are under way in every lane. */
const firstsWaitMs = Number(process.argv[3] ?? 20)

function noteFirst(request: IncomingMessage, response: ServerResponse): void {
  const arrivedMs = performance.timeOrigin + performance.now()
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    count++
    const subject = /"subject":"([^"]+)"/.exec(Buffer.concat(chunks).toString('latin1'))?.[1] ?? ''
    if (!firsts.has(subject)) firsts.set(subject, arrivedMs)
    if (firstsWaitMs > 0) setTimeout(() => response.end(), firstsWaitMs)
    else response.end()
  })
}

function noteDelay(request: IncomingMessage, response: ServerResponse): void {
  const arrivedMs = performance.timeOrigin + performance.now()
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    count++
    response.end()
    const sentAt = /"bench\/sent-at":"([\d.]+)"/.exec(Buffer.concat(chunks).toString('latin1'))?.[1]
    delays.push(arrivedMs - Number(sentAt))
  })
}

let isDown = false

function answerUnlessDown(request: IncomingMessage, response: ServerResponse): void {
  if (request.url === '/down' || request.url === '/up') {
    isDown = request.url === '/down'
    return void response.end()
  }
  request.resume().on('end', () => {
    if (isDown) return void response.writeHead(503).end()
    count++
    response.end()
  })
}

/** An event costs the receiver the same in a request of its own and among others. */
function parseLines(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const sent = Buffer.concat(chunks)
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
    for (const line of body.toString().trimEnd().split('\n')) {
      const parsed: unknown = JSON.parse(line)
      count += Array.isArray(parsed) ? parsed.length : 1
    }
    response.end()
  })
}

/** An internal error, unavailable, a reset. */
function answerOrFail(request: IncomingMessage, response: ServerResponse): void {
  request.resume().on('end', () => {
    const fault = count++ % 10
    const isDown = process.uptime() % 120 > 90
    if (fault > 2 && !isDown) response.end()
    else if (fault % 3 === 2) request.socket.resetAndDestroy()
    else response.writeHead(fault % 3 === 0 ? 500 : 503).end('{"error":"no"}')
  })
}

server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit(0))
