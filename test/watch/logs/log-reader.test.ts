import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ClusterClient } from '../../../src/watch/client/cluster-client.ts'
import { connectCluster } from '../../../src/watch/client/connect.ts'
import { LogReader } from '../../../src/watch/logs/log-reader.ts'
import type { LogTarget } from '../../../src/watch/logs/log-target.ts'
import { type ApiRequest, failure, type ScriptedApi, startScriptedApi } from '../../servers/scripted-api.ts'
import { waitFor } from '../../wait-for.ts'
import { kubeconfigFor } from '../bed.ts'
import { folder } from '../folder.ts'

const TARGET: LogTarget = {
  namespace: 'shop',
  pod: 'web-1',
  container: 'app',
  previous: false,
  anyRun: true,
  deleted: false,
}
const SETTINGS = { lines: 20, maxBytes: 4_096 }

let api: ScriptedApi
let client: ClusterClient
let outcomes: string[] = []
const stack = new AsyncDisposableStack()

beforeAll(async () => {
  api = stack.use(await startScriptedApi())
  const kubeconfig = join(stack.use(folder()).dir, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigFor(api.url))
  client = connectCluster({ kubeconfig, env: {}, userAgent: 'test' })
  stack.defer(() => client.close())
})
afterAll(() => stack.disposeAsync())
beforeEach(() => {
  api.requests.length = 0
  outcomes = []
})

const startReader = (rate = 50) =>
  new LogReader({ client, rate, onRead: (outcome) => void outcomes.push(outcome) })

/** Reads with these answers, one after the other. */
async function read(
  target: Partial<LogTarget>,
  ...answers: ((response: ServerResponse, request: ApiRequest) => void)[]
) {
  api.intercept = (request, response) => {
    answers.shift()?.(response, request)
    return true
  }
  return (await startReader().read({ ...TARGET, ...target }, SETTINGS))?.log
}

const text = (body: string | Buffer) => (response: ServerResponse) => void response.end(body)
const refuse = (code: number, message: string) => (response: ServerResponse) =>
  void response
    .writeHead(code, { 'content-type': 'application/json' })
    .end(JSON.stringify(failure(code, 'X', {}, message)))
const NO_PREVIOUS = refuse(400, 'previous terminated container "app" in pod "web-1" not found')

test('the request is bounded, and names container and run', async () => {
  expect(await read({ previous: true }, text('a\nb\n'))).toEqual({
    container: 'app',
    previous: true,
    text: 'a\nb',
  })
  const [{ path, query }] = api.requests as [ApiRequest]
  expect(path).toBe('/api/v1/namespaces/shop/pods/web-1/log')
  expect(Object.fromEntries(query)).toEqual({
    tailLines: '20',
    limitBytes: '4194304',
    container: 'app',
    previous: 'true',
  })
  expect(outcomes).toEqual(['read'])
})

test('without a previous run, the current one is read, unless the rule demands the previous one', async () => {
  expect(await read({ previous: true }, NO_PREVIOUS, text('now'))).toMatchObject({
    previous: false,
    text: 'now',
  })
  expect(await read({ previous: true, anyRun: false }, NO_PREVIOUS)).toMatchObject({
    previous: true,
    error: expect.any(String),
  })
  expect(outcomes).toEqual(['read', 'not-started'])
})

test('of a pod with several containers the first is read, where nothing names one', async () => {
  const several = refuse(
    400,
    'a container name must be specified for pod web-1, choose one of: [app sidecar]',
  )
  expect(await read({ container: undefined }, several, text('x'))).toEqual({
    container: 'app',
    previous: false,
    text: 'x',
  })
  expect(await read({ container: undefined }, several, several)).toMatchObject({ error: expect.any(String) })
})

test.each([
  ['gone', refuse(404, 'pods "web-1" not found')],
  ['gone', text('unable to retrieve container logs for containerd://1234')],
  [
    'not-started',
    refuse(400, 'container "app" in pod "web-1" is waiting to start: trying and failing to pull image'),
  ],
  ['forbidden', refuse(403, 'pods "web-1" is forbidden')],
  ['failed', refuse(500, 'Get "https://10.0.0.1:10250/containerLogs": dial tcp: connection refused')],
  ['failed', (response: ServerResponse) => void response.destroy()],
  ['failed', (response: ServerResponse) => void response.writeHead(200).write('x', () => response.destroy())],
])('what cannot be had says why: %s', async (outcome, answer) => {
  const log = await read({}, answer)
  expect(log).toEqual({ container: 'app', previous: false, error: expect.stringMatching(/^[^\n]{5,250}$/) })
  expect(outcomes).toEqual([outcome])
})

test('a deleted pod is not asked for', async () => {
  expect(await read({ deleted: true })).toMatchObject({ error: expect.any(String) })
  expect(api.requests).toEqual([])
})

test('a log without end is read up to the bound, and its end is kept', async () => {
  let closed = false
  const log = await read({}, (response) => {
    response.on('close', () => {
      closed = true
    })
    const pump = () => {
      while (!closed && response.write(`${'x'.repeat(99)}\n`)) {}
    }
    response.on('drain', pump)
    pump()
  })
  expect(Buffer.byteLength(log?.text ?? '')).toBeLessThanOrEqual(SETTINGS.maxBytes)
  expect(log?.text?.split('\n')).toHaveLength(20)
  await expect.poll(() => closed).toBe(true)
})

test.each([
  ['long lines before it', `${`${'x'.repeat(16_000)}\n`.repeat(30)}panic: the end`, /\npanic: the end$/],
  [
    'more long characters than are kept',
    `é${'\u{1f600}'.repeat(100_000)}\nthe end`,
    /^…[^\ufffd]*\nthe end$/u,
  ],
])('the end of a log is there, whatever comes before it: %s', async (_, body, expected) => {
  const log = await read({}, (response, { query }) => {
    // As the kubelet does.
    response.end(Buffer.from(body).subarray(0, Number(query.get('limitBytes'))))
  })
  expect(log?.text).toMatch(expected)
})

test('binary data becomes text', async () => {
  const log = await read({}, text(Buffer.from(Array.from({ length: 4_096 }, (_, i) => i % 256))))
  expect(log?.text?.isWellFormed()).toBe(true)
})

test('a server that does not answer is given up in time', { timeout: 30_000 }, async () => {
  expect(await read({}, () => {})).toMatchObject({ error: expect.stringContaining('4 s') })
  expect(outcomes).toEqual(['timeout'])
})

test('closing ends a read without a result, so that another process reads', async () => {
  const reader = startReader()
  const { promise, resolve } = Promise.withResolvers<void>()
  api.intercept = () => {
    resolve()
    return true
  }
  const log = reader.read(TARGET, SETTINGS)
  await promise
  reader.close()
  expect(await log).toBeUndefined()
})

test('requests come at a steady pace, and reads that would wait too long are refused at the start', async () => {
  api.intercept = (_, response) => {
    response.end('x')
    return true
  }
  const reader = startReader(10)
  const startedMs = performance.now()
  const reads = await Promise.all(Array.from({ length: 100 }, () => reader.read(TARGET, SETTINGS)))
  const logs = reads.map((it) => it?.log)
  // A timer may fire up to a millisecond before its time.
  const seconds = (performance.now() + 1 - startedMs) / 1_000
  const served = logs.filter((it) => it?.text === 'x').length
  expect(served).toBe(api.requests.length)
  expect(served).toBeLessThanOrEqual(10 * seconds + 1)
  expect(served).toBeGreaterThan(10)
  expect(outcomes.filter((it) => it === 'rate')).toHaveLength(100 - served)
  expect(logs.find((it) => it?.error)?.error).toContain('more than 10 requests')
})

test('a namespace in which many containers crash does not keep the logs of others from being read', async () => {
  api.intercept = (_, response) => {
    response.end('x')
    return true
  }
  const reader = startReader(10)
  const others = ['payments', 'search', 'web'].map((namespace) => ({ ...TARGET, namespace }))
  const crashing = Promise.all(Array.from({ length: 100 }, () => reader.read(TARGET, SETTINGS)))
  const reads = await Promise.all(others.map((target) => reader.read(target, SETTINGS)))
  expect(reads.map((it) => it?.outcome)).toEqual(['read', 'read', 'read'])
  const namespaces = api.requests.map(({ path }) => path.split('/')[4])
  expect(namespaces.indexOf('web')).toBeLessThan(8)
  const refused = (await crashing).filter((it) => it?.outcome === 'rate')
  expect(refused.length).toBeGreaterThan(70)
})

test('a read that waits for its turn ends when the reader is closed', async () => {
  api.intercept = () => true
  const reader = startReader(1)
  const reads = Promise.all(Array.from({ length: 3 }, () => reader.read(TARGET, SETTINGS)))
  await waitFor(() => api.requests.length > 0, { what: 'the first request' })
  reader.close()
  expect(await reads).toEqual([undefined, undefined, undefined])
})
