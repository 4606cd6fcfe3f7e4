import { once } from 'node:events'
import { connect } from 'node:net'
import { constants, networkInterfaces } from 'node:os'
import { buffer, text } from 'node:stream/consumers'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createMetrics } from '../../src/observe/metrics.ts'
import { createAccess } from '../../src/observe/server/access.ts'
import { type HealthServer, startServer } from '../../src/observe/server/http.ts'
import { createSite } from '../../src/observe/server/site.ts'
import { waitFor } from '../wait-for.ts'

let server: HealthServer | undefined
afterEach(() => server?.close())

const vitals = () => ({
  nowMs: 0,
  watches: [],
  sinks: [],
  redisTrouble: undefined,
  redisFull: false,
  stopping: false,
})

async function ask(said: string, patienceMs?: number): Promise<string> {
  server = await startServer({
    host: '127.0.0.1',
    port: 0,
    metrics: createMetrics(),
    vitals,
    ...(patienceMs !== undefined && { patienceMs }),
  })
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(said)
  return text(socket)
}

/** How Node asks the kernel for an address: returns 0 or a negative error number. */
interface TcpBinding {
  binding(name: 'tcp_wrap'): { TCP: { prototype: { bind6(...args: unknown[]): number } } }
}

describe('on all interfaces', () => {
  const ALL = { host: '::', port: 0, metrics: createMetrics(), vitals }
  const start = () => startServer(ALL)
  const livez = async (address: string, { url }: HealthServer) =>
    (await fetch(`http://${address}:${new URL(url).port}/livez`)).status
  const addresses = Object.values(networkInterfaces()).flatMap((all = []) =>
    all.map(({ address }) => address),
  )

  test('the server answers IPv4', async () => {
    server = await start()
    expect(await livez('127.0.0.1', server)).toBe(200)
  })

  test.skipIf(!addresses.includes('::1'))('the server answers IPv6', async () => {
    server = await start()
    expect(await livez('[::1]', server)).toBe(200)
  })

  test('the server answers IPv4 where the kernel has no IPv6', async () => {
    const { TCP } = (process as unknown as TcpBinding).binding('tcp_wrap')
    const bind = vi.spyOn(TCP.prototype, 'bind6').mockReturnValue(-constants.errno.EAFNOSUPPORT)
    try {
      server = await start()
      expect(bind).toHaveBeenCalled()
    } finally {
      bind.mockRestore()
    }
    expect(await livez('127.0.0.1', server)).toBe(200)
    expect(server.url).toMatch(/^http:\/\/0\.0\.0\.0:/)
  })

  test('a client of IPv4 has its own address where a refused request is logged', async () => {
    const peers: string[] = []
    const onRefused = ({ peer }: { peer: string }) => void peers.push(peer)
    const site = createSite({ access: () => createAccess({}), api: async () => {}, onRefused })
    server = await startServer({ ...ALL, site: async () => site })
    const page = `http://127.0.0.1:${new URL(server.url).port}/`
    expect((await fetch(page, { headers: { via: '1.1 proxy' } })).status).toBe(404)
    expect(peers).toEqual(['127.0.0.1'])
  })

  test('an address that is not of this machine is an error', async () => {
    await expect(startServer({ ...ALL, host: '2001:db8::1' })).rejects.toThrow('cannot listen on 2001:db8::1')
  })
})

const END = 'host: a\r\nconnection: close\r\n\r\n'

test.each([
  ['nothing', ''],
  ['half a request', 'GET /livez HTTP/1.1\r\nhost: a\r\nx-a: '],
])('whoever connects and says %s is not waited for', async (_, said) => {
  const answer = await ask(said, 50)
  expect(answer.split('\r\n')[0]).toBe('HTTP/1.1 408 Request Timeout')
})

test.each([
  ['GET /livez/../metrics', 404],
  ['GET //metrics', 404],
  ['GET /../../etc/passwd', 404],
  ['GET http://elsewhere/metrics', 404],
  ['POST /readyz', 405],
  ['OPTIONS *', 405],
  ['HEAD /metrics', 200],
  ['GET /livez?verbose', 200],
])('%s is answered with %i', async (line, status) => {
  const answer = await ask(`${line} HTTP/1.1\r\n${END}`)
  expect(answer.split(' ')[1]).toBe(String(status))
})

test('with too many connections the oldest one without an answer under way is closed', async () => {
  server = await startServer({
    ...{ host: '127.0.0.1', port: 0, metrics: createMetrics(), vitals, maxConnections: 4 },
    site: async () => async (_, response) => void response.writeHead(200).write('begin'),
  })
  const port = Number(new URL(server.url).port)
  const closed: string[] = []
  const open = async (name: string, sent: string) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('close', () => closed.push(name)).on('error', () => {})
    await once(socket, 'connect')
    socket.write(sent)
    return socket
  }
  const HALF = 'GET /livez HTTP/1.1\r\nhost: a\r\nx-a: '
  const stream = await open('stream', 'GET /stream HTTP/1.1\r\nhost: a\r\n\r\n')
  expect(String(await once(stream, 'data'))).toContain('begin')
  const answered = await open('answered', 'GET /livez HTTP/1.1\r\nhost: a\r\n\r\n')
  await once(answered, 'data')
  const halves = [await open('half-1', HALF), await open('half-2', HALF)]
  for (const name of ['half-3', 'half-4', 'half-5']) halves.push(await open(name, HALF))
  await waitFor(() => closed.length === 3, { what: 'the oldest' })
  expect(closed).toEqual(['answered', 'half-1', 'half-2'])
  const probe = await open('probe', `GET /livez HTTP/1.1\r\n${END}`)
  expect(await text(probe)).toContain('200 OK')
  expect(closed).not.toContain('stream')
  for (const socket of [stream, ...halves]) socket.destroy()
})

test('an answer that is still being read is not cut while another connection can be closed', async () => {
  const body = Buffer.alloc(64 * 1_048_576, 'x')
  server = await startServer({
    ...{ host: '127.0.0.1', port: 0, metrics: createMetrics(), vitals, maxConnections: 2 },
    site: async () => async (_, response) => void response.writeHead(200).end(body),
  })
  const port = Number(new URL(server.url).port)
  const reader = connect(port, '127.0.0.1').on('error', () => {})
  reader.write(`GET /all HTTP/1.1\r\n${END}`)
  // It has begun: more than fits into what the system keeps for it is to come.
  await once(reader, 'readable')
  const others = []
  for (let i = 0; i < 3; i++) {
    const other = connect(port, '127.0.0.1').on('error', () => {})
    others.push(other)
    await once(other, 'connect')
  }
  const probe = connect(port, '127.0.0.1')
  probe.write(`GET /livez HTTP/1.1\r\n${END}`)
  expect(await text(probe)).toContain('200 OK')
  expect((await buffer(reader)).length).toBeGreaterThan(body.length)
  for (const other of others) other.destroy()
})

test('many requests for metrics share what was rendered within the last second', async () => {
  let rendered = 0
  const counting = () => {
    rendered++
    return vitals()
  }
  server = await startServer({ host: '127.0.0.1', port: 0, metrics: createMetrics(), vitals: counting })
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  await once(socket, 'connect')
  const startedMs = performance.now()
  socket.write(`${'GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(300)}GET /livez HTTP/1.1\r\n${END}`)
  const answers = (await text(socket)).split('HTTP/1.1 200 OK').length - 1
  const seconds = (performance.now() - startedMs) / 1_000
  expect(answers).toBe(301)
  // The last one is that of /livez.
  expect(rendered - 1).toBeLessThanOrEqual(20 * (Math.floor(seconds) + 2))
  expect(rendered).toBeGreaterThanOrEqual(2)
})

test('a server that may take any port takes another one where its own is taken; others name the port', async () => {
  server = await startServer({ host: '127.0.0.1', port: 0, metrics: createMetrics(), vitals })
  const port = Number(new URL(server.url).port)
  const options = { host: '127.0.0.1', port, metrics: createMetrics(), vitals }
  await expect(startServer(options)).rejects.toThrow(`127.0.0.1:${port}`)
  const other = await startServer({ ...options, orAnyPort: true })
  expect(new URL(other.url).port).not.toBe(String(port))
  await other.close()
})
