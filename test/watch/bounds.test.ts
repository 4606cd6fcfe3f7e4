import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { queryObjects } from 'node:v8'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { Change } from '../../src/model/change.ts'
import { connectCluster } from '../../src/watch/client/connect.ts'
import { discover } from '../../src/watch/client/discovery.ts'
import { listObjects } from '../../src/watch/list/list.ts'
import { configMap, failure } from '../servers/scripted-api.ts'
import { SOURCE } from '../store/objects.ts'
import { waitFor } from '../wait-for.ts'
import { kubeconfigFor, startWatchBed } from './bed.ts'
import { folder } from './folder.ts'

/** What large objects, and servers that never end an answer, may cost. */

const MB = 1_000_000
const signal = new AbortController().signal

/** A client of a server that answers as told. */
async function clientOf(listener: RequestListener) {
  const stack = new AsyncDisposableStack()
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => void server.close())
  stack.defer(() => server.closeAllConnections())
  const { port } = server.address() as { port: number }
  return { client: stack.use(clientAt(port)), [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

function clientAt(port: number) {
  using files = folder()
  const kubeconfig = join(files.dir, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigFor(`http://127.0.0.1:${port}`))
  const client = connectCluster({ kubeconfig, env: {}, userAgent: 'test' })
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
}

const options = { clock: Date, metadataOnly: false, maxPageBytes: 3 * MB, onUnreadable() {} }

async function namesOf(pages: AsyncGenerator<Change[], string>): Promise<string[]> {
  const names: string[] = []
  for await (const page of pages) names.push(...page.map(({ object }) => object.name))
  return names
}

/** Serves these objects in pages; `asked` notes the limits. */
function inPages(objects: readonly object[], asked: (number | undefined)[]): RequestListener {
  return ({ url }, response) => {
    const query = new URL(url ?? '', 'http://x').searchParams
    const from = Number(query.get('continue') ?? 0)
    const limit = Number(query.get('limit') ?? objects.length)
    asked.push(query.has('limit') ? limit : undefined)
    const to = Math.min(from + limit, objects.length)
    const next = to < objects.length ? { continue: String(to) } : {}
    response.end(
      JSON.stringify({ metadata: { resourceVersion: '9', ...next }, items: objects.slice(from, to) }),
    )
  }
}

const sized = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, i) => {
    const { metadata, ...rest } = configMap(`o${i}`, i + 1)
    return { ...rest, metadata: { ...metadata, name: `o${i}` }, data: { x: 'x'.repeat(bytes) } }
  })

test('of large objects fewer are asked for at a time, and of small ones more again', async () => {
  const asked: (number | undefined)[] = []
  const objects = [...sized(25, 300_000), ...sized(600, 10)]
  await using it = await clientOf(inPages(objects, asked))
  const names = await namesOf(listObjects(it.client, SOURCE, options, signal))
  expect(names).toEqual(objects.map((it) => it.metadata.name))
  expect(asked[0]).toBe(500)
  expect(Math.min(...asked.map(Number))).toBeLessThan(12)
  expect(asked.at(-1)).toBeGreaterThan(50)
  expect(asked.length).toBeLessThan(30)
})

test('a server that ignores the limit is read to its end, each object once', async () => {
  const objects = sized(20, 300_000)
  await using it = await clientOf((_request, response) => {
    response.end(JSON.stringify({ metadata: { resourceVersion: '9' }, items: objects }))
  })
  const names = await namesOf(listObjects(it.client, SOURCE, options, signal))
  expect(names).toEqual(objects.map((it) => it.metadata.name))
})

test('a list in one piece is read as fast as it is taken, and no faster', async () => {
  const total = 50
  let sent = 0
  await using it = await clientOf(async (_request, response) => {
    response.write('{"metadata":{"resourceVersion":"9"},"items":[')
    for (const [i, object] of sized(total, MB).entries()) {
      sent++
      if (!response.write(`${i > 0 ? ',' : ''}${JSON.stringify(object)}`)) await once(response, 'drain')
    }
    response.end(']}')
  })
  const pages = listObjects(it.client, SOURCE, { ...options, whole: true }, signal)
  const first = await pages.next()
  // The rest of what the server may send lies in the buffers of the sockets.
  let before: number
  do {
    before = sent
    await new Promise((resolve) => setTimeout(resolve, 200))
  } while (sent > before)
  expect(sent).toBeLessThan(40)
  const rest = await namesOf(pages)
  expect((first.value as Change[]).length + rest.length).toBe(total)
})

test('an item larger than the limit comes with its metadata alone, and is not reported as deleted by a relist', async () => {
  const large = { ...configMap('large', 5), data: { x: 'x'.repeat(200_000) } }
  await using it = await startWatchBed({
    entries: [{ kind: 'ConfigMap', initial: 'emit' }],
    objects: [large, configMap('small', 6), configMap('gone', 7)],
    maxObjectBytes: 100_000,
  })
  await it.watching('10')
  it.api.objects = [large, configMap('small', 6)]
  it.api.resourceVersion = '20'
  it.api.current()?.frame('ERROR', failure(410, 'Expired'))
  await it.watching('20')
  expect((await it.enqueued()).toSorted()).toEqual([
    'ADDED gone@7 synthesized',
    'ADDED large@5 synthesized',
    'ADDED small@6 synthesized',
    'DELETED gone@7 synthesized',
  ])
  const [first] = await it.objects()
  expect(JSON.parse(first as string)).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'large' } })
  expect(first?.length).toBeLessThan(1_000)
  expect(await it.metric('objects_oversized_total')).toMatchObject([{ value: 2 }])
  expect(it.api.lists()).toHaveLength(2)
})

test.each(['pages', 'a stream'])(
  'an oversized item without readable metadata, in %s: nothing is reported as deleted, and no list follows another',
  async (how) => {
    const { metadata } = configMap('hidden', 8)
    const hidden = { data: { x: 'x'.repeat(3 * MB) }, kind: 'ConfigMap', apiVersion: 'v1', metadata }
    await using it = await startWatchBed({
      objects: [configMap('hidden', 5), configMap('small', 6)],
      maxObjectBytes: 100_000,
      prepare: (api) => {
        api.watchList = how === 'a stream'
      },
    })
    await it.watching('10')
    it.api.objects = [hidden, configMap('new', 18)]
    it.api.resourceVersion = '20'
    it.api.current()?.frame('ERROR', failure(410, 'Expired'))
    await it.watching('20')
    it.api.current()?.frame('ADDED', configMap('next', 21))
    await it.arrived(2)
    expect(await it.enqueued()).toEqual(['ADDED new@18 synthesized', 'ADDED next@21'])
    expect(await it.metric('objects_oversized_total')).toMatchObject([{ value: 1 }])
  },
)

test.each([
  ['plain', {}, (part: Buffer) => part],
  ['compressed', { 'content-encoding': 'gzip' }, (part: Buffer) => gzipSync(part)],
])('an answer without end to discovery is cut: %s', async (_name, headers, packed) => {
  const part = packed(Buffer.from(' '.repeat(MB)))
  await using it = await clientOf((_request, response) => {
    response.writeHead(200, headers)
    const more = () => {
      while (!response.destroyed) if (!response.write(part)) return void response.once('drain', more)
    }
    more()
  })
  await expect(discover(it.client, signal)).rejects.toThrow('more than')
})

test('informational answers without end are cut; a few are ignored', async () => {
  let isFirst = true
  const flood = createTcpServer((socket: Socket) => {
    socket.on('error', () => {})
    socket.on('data', () => {
      const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'
      if (isFirst) {
        isFirst = false
        return void socket.write(`${hints.repeat(5)}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}`)
      }
      const more = () => {
        while (!socket.destroyed)
          if (!socket.write(hints.repeat(1_000))) return void socket.once('drain', more)
      }
      more()
    })
  })
  flood.listen(0, '127.0.0.1')
  await once(flood, 'listening')
  await using client = clientAt((flood.address() as { port: number }).port)
  try {
    const bounds = { timeoutMs: 60_000 }
    expect(await client.get('/api', bounds, signal)).toMatchObject({ status: 200 })
    await expect(client.get('/api', bounds, signal)).rejects.toThrow('1xx')
  } finally {
    flood.close()
  }
})

test('requests with time limits leave nothing behind, however many there are', async () => {
  await using it = await clientOf((_request, response) => void response.end('{}'))
  const signals = () => queryObjects(AbortSignal, { format: 'count' }) as unknown as number
  const before = signals()
  for (let i = 0; i < 100; i++) {
    await it.client.get('/api', { timeoutMs: 5_000 }, signal)
    const limited = AbortSignal.any([signal, AbortSignal.timeout(5_000)])
    const { body } = await it.client.stream('/api', {}, limited)
    for await (const _chunk of body);
  }
  // Each look goes through the whole heap, and time limits are over after five seconds.
  await waitFor(() => signals() - before < 50, {
    everyMs: 5_100,
    what: () => `the end of ${signals() - before} signals`,
  })
})
