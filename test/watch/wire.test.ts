import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { configMap, type WatchConnection } from '../servers/scripted-api.ts'
import { startTcpProxy } from '../servers/tcp-proxy.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'

/** Cases of the connection and the bytes on it. */

test('case 26: silent watches that end in time are opened again, without a list and from where they were', async () => {
  await using it = await startWatchBed({ timing: { quickEndMs: 0 } })
  await it.watching('10')
  for (let ends = 1; ends <= 5; ends++) {
    it.api.current()?.end()
    await waitFor(() => it.api.watches().length > ends, { what: 'the next watch' })
  }
  expect(it.api.watches().every(({ query }) => query.get('resourceVersion') === '10')).toBe(true)
  expect(it.api.lists()).toHaveLength(1)
})

test('case 27: a connection on which nothing comes through any more is given up by the watch itself, and nothing is lost', async () => {
  await using proxy = await startTcpProxy(0)
  await using it = await startWatchBed({
    timing: { watchSeconds: [1, 1], graceMs: 200 },
    serverAt(api) {
      proxy.retarget(Number(new URL(api.url).port))
      return `http://127.0.0.1:${proxy.port}`
    },
  })
  await it.watching('10')
  it.api.current()?.frame('ADDED', configMap('a', 11))
  await it.arrived(1)
  proxy.freeze()
  const swallowed = it.api.current()
  swallowed?.frame('ADDED', configMap('b', 12))
  swallowed?.frame('ADDED', configMap('c', 13))
  it.api.resourceVersion = '13'
  it.api.script((watch) => {
    watch.frame('ADDED', configMap('b', 12))
    watch.frame('ADDED', configMap('c', 13))
  })
  await it.watching('11')
  await it.arrived(3)
  expect(await it.enqueued()).toEqual(['ADDED a@11', 'ADDED b@12', 'ADDED c@13'])
  expect(it.api.lists()).toHaveLength(1)
})

test('case 28: a server that falls silent beyond its own limit is given up, and the watch goes on from its position', async () => {
  await using it = await startWatchBed({ timing: { watchSeconds: [1, 1], graceMs: 100 } })
  await it.watching('10')
  const [first] = it.api.watches()
  it.api.script((watch) => watch.frame('ADDED', configMap('a', 11)))
  await it.arrived(1)
  const second = it.api.watches()[1]
  expect(second?.query.get('resourceVersion')).toBe('10')
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(1_000)
  expect(it.api.lists()).toHaveLength(1)
})

test('case 30: frames that come byte by byte, long ones, U+2028 and CR come through as they are', async () => {
  await using it = await startWatchBed()
  await it.watching('10')
  const odd = { ...configMap('odd', 11), data: { text: 'a\u2028b\rc', big: 'x'.repeat(1_500_000) } }
  const small = configMap('smäll', 12)
  it.api.current()?.frame('ADDED', odd)
  const bytes = Buffer.from(`${JSON.stringify({ type: 'ADDED', object: small })}\r\n`)
  for (const byte of bytes) it.api.current()?.raw(Buffer.of(byte))
  await it.arrived(2)
  expect(await it.enqueued()).toEqual(['ADDED odd@11', 'ADDED smäll@12'])
  expect(await it.objects()).toEqual([JSON.stringify(odd), JSON.stringify(small)])
})

test('case 39: a stream in several gzip members is read member by member, while it is open', async () => {
  let open: ServerResponse | undefined
  const send = (version: number) =>
    open?.write(gzipSync(`${JSON.stringify({ type: 'MODIFIED', object: configMap('a', version) })}\n`))
  await using it = await startWatchBed({
    prepare(api) {
      api.intercept = ({ isWatch, query, headers }, response) => {
        if (!isWatch || query.has('sendInitialEvents')) return false
        expect(headers['accept-encoding']).toBe('gzip')
        response.writeHead(200, { 'content-encoding': 'gzip' })
        open = response
        send(11)
        return true
      }
    },
  })
  await it.arrived(1)
  send(12)
  await it.arrived(2)
  expect(await it.enqueued()).toEqual(['ADDED a@11', 'MODIFIED a@12'])
})
test('case 29: a connection that is cut in the middle of a frame, or of a character, loses nothing', async () => {
  await using it = await startWatchBed()
  await it.watching('10')
  const frame = Buffer.from(`${JSON.stringify({ type: 'ADDED', object: configMap('ä', 11) })}\n`)
  it.api.script((watch) => watch.raw(frame))
  it.api.current()?.raw(frame.subarray(0, frame.indexOf('ä') + 1))
  it.api.current()?.reset()
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['ADDED ä@11'])
})

test('case 31: an unreadable frame resumes from the position; the same one again leads to a list', async () => {
  await using it = await startWatchBed()
  await it.watching('10')
  it.api.script((watch) => watch.raw('{"type":"ADDED","object":{bad}\n'))
  it.api.current()?.raw('{"type":"ADDED","object":{bad}\n')
  it.api.objects = [configMap('a', 15)]
  it.api.resourceVersion = '20'
  await it.watching('20')
  expect(await it.enqueued()).toEqual(['ADDED a@15 synthesized'])
  expect(await it.metric('frames_malformed_total')).toMatchObject([{ value: 2 }])
})

test('an unreadable frame behind a deletion, which comes again with each reconnect, leads to a list, too', async () => {
  await using it = await startWatchBed({
    timing: { probeAfterMs: 600_000, stalledMs: 600_000 },
    objects: [configMap('a', 5)],
  })
  await it.watching('10')
  const send = (watch: WatchConnection | undefined) => {
    watch?.frame('DELETED', configMap('a', 20))
    watch?.raw('{"type":"ADDED","object":{bad}\n')
  }
  it.api.objects = [configMap('c', 25)]
  it.api.resourceVersion = '30'
  it.api.script(send, send, send, send, send)
  send(it.api.current())
  await it.watching('30')
  expect(await it.enqueued()).toEqual(['DELETED a@20', 'ADDED c@25 synthesized'])
})

test('a frame with a wrong escape is an unreadable one, and does not end the process', async () => {
  await using it = await startWatchBed()
  await it.watching('10')
  const frame = '{"type":"ADDED","object":{"metadata":{"uid":"u","name":"\\q","resourceVersion":"11"}}}\n'
  it.api.script((watch) => watch.raw(frame))
  it.api.current()?.raw(frame)
  it.api.objects = [configMap('a', 15)]
  it.api.resourceVersion = '20'
  await it.watching('20')
  expect(await it.enqueued()).toEqual(['ADDED a@15 synthesized'])
})

test('case 32: a store that throws keeps the position, and the change comes again', async () => {
  let broken = true
  await using it = await startWatchBed({
    wrap: (store) => ({
      ...store,
      async open(source, signal) {
        const session = await store.open(source, signal)
        const commit = session.commit.bind(session)
        session.commit = async (...args) => {
          if (!broken) return commit(...args)
          broken = false
          throw new Error('a bug')
        }
        return session
      },
    }),
  })
  await it.watching('10')
  const frame = (watch: { frame(type: string, object: unknown): void }) =>
    watch.frame('ADDED', configMap('a', 11))
  it.api.script(frame)
  frame(it.api.current() as never)
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['ADDED a@11'])
})

test('a frame longer than what may wait unread is read to its end, and the frames after it arrive', async () => {
  await using it = await startWatchBed()
  await it.watching('10')
  const large = JSON.stringify({
    type: 'ADDED',
    object: { ...configMap('large', 11), data: { text: '<'.repeat(1_000_000) } },
  })
  // Go's encoding/json writes < as six bytes.
  it.api.current()?.raw(`${large.replaceAll('<', '\\u003c')}\n`)
  it.api.current()?.frame('ADDED', configMap('small', 12))
  await it.arrived(2)
  expect(await it.enqueued()).toEqual(['ADDED large@11', 'ADDED small@12'])
  expect(it.api.watches()).toHaveLength(1)
})

test('an object larger than the limit comes with its metadata alone, also when it is deleted, and is counted and named', async () => {
  const warnings: string[] = []
  const log = {
    ...silentLog,
    warn: (fields: object, message: string) => void warnings.push(`${JSON.stringify(fields)} ${message}`),
  }
  await using it = await startWatchBed({ maxObjectBytes: 100_000, log })
  await it.watching('10')
  const large = (version: number) => ({ ...configMap('large', version), data: { x: 'x'.repeat(200_000) } })
  it.api.current()?.frame('ADDED', large(11))
  it.api.current()?.frame('ADDED', configMap('small', 12))
  it.api.current()?.frame('DELETED', large(13))
  await it.arrived(3)
  expect(await it.enqueued()).toEqual(['ADDED large@11', 'ADDED small@12', 'DELETED large@13'])
  const object = JSON.parse((await it.objects())[0] as string)
  expect(object).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'large', uid: 'uid-of-large' } })
  expect(Number(object.metadata.annotations['kubeherald.dev/oversized-bytes'])).toBeGreaterThan(200_000)
  expect(object).not.toHaveProperty('data')
  expect(await it.metric('objects_oversized_total')).toMatchObject([{ value: 2 }])
  expect(warnings).toEqual([expect.stringContaining('default/large')])
  expect(it.api.watches()).toHaveLength(1)
})
