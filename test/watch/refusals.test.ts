import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type ApiRequest, configMap, failure, type ScriptedApi } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'

/** Cases of a server that refuses, and of the pace at which it is asked again. */

/** Milliseconds between requests. */
const pauses = (requests: readonly ApiRequest[]) =>
  requests.slice(1).map(({ atMs }, i) => atMs - (requests[i]?.atMs ?? 0))

/** A pause that was slept lasts at least as long as asked, but for the clock's rounding. */
function expectAtLeast(actual: readonly number[], expected: readonly number[]): void {
  for (const [i, least] of expected.entries())
    expect(actual[i], `pause ${i}`).toBeGreaterThanOrEqual(least - 2)
}

test('case 11: 410 on every watch is answered with growing pauses', async () => {
  await using it = await startWatchBed({
    timing: { backoffFirstMs: 100, backoffMaxMs: 10_000 },
    random: () => 0.5,
    prepare(api) {
      api.intercept = ({ isWatch, query }, response) => {
        if (!isWatch || query.has('sendInitialEvents')) return false
        response.writeHead(200)
        response.end(`${JSON.stringify({ type: 'ERROR', object: failure(410, 'Expired') })}\n`)
        return true
      }
    },
  })
  await waitFor(() => it.api.watches().length >= 5, { what: 'five tries' })
  await waitFor(() => it.statuses()[0]?.phase === 'reconnecting', { what: 'a pause to be told' })
  // The first 410 is nothing odd: listed at once.
  expectAtLeast(pauses(it.api.watches()), [0, 100, 200, 400])
  expect(await it.enqueued()).toEqual([])
})

test('case 40: a server that ends every watch early is asked at a bounded rate, ever more slowly', async () => {
  await using it = await startWatchBed({
    timing: { backoffFirstMs: 200, backoffMaxMs: 800 },
    random: () => 0.5,
    prepare(api) {
      api.intercept = ({ isWatch, query }, response) => {
        if (!isWatch || query.has('sendInitialEvents')) return false
        response.writeHead(200).end()
        return true
      }
    },
  })
  await waitFor(() => it.api.watches().length >= 6, { what: 'six tries' })
  expectAtLeast(pauses(it.api.watches()), [100, 200, 400, 400, 400])
})

test('cases 33, 34: 429 and 5xx are waited out as the server asks, and the position is kept', async () => {
  await using it = await startWatchBed()
  await it.watching('10')
  let refusals = 0
  it.api.intercept = ({ isWatch }, response) => {
    if (!isWatch || refusals >= 3) return false
    const status = [429, 503, 500][refusals++] as number
    response
      .writeHead(status, status === 429 ? { 'retry-after': '1' } : {})
      .end(JSON.stringify(failure(status, 'Busy')))
    return true
  }
  it.api.current()?.reset()
  await waitFor(() => refusals === 3 && it.api.watches().length >= 5, {
    what: 'the watch after the refusals',
  })
  const [, refused, next] = it.api.watches()
  expect((next?.atMs ?? 0) - (refused?.atMs ?? 0)).toBeGreaterThanOrEqual(998)
  expect(it.api.watches().every(({ query }) => query.get('resourceVersion') === '10')).toBe(true)
  expect(it.api.lists()).toHaveLength(1)
})

test('case 33: a list that is answered 429 is asked for again as late as the server wants, and then compared', async () => {
  await using it = await startWatchBed({ objects: [configMap('a', 5)] })
  await it.watching('10')
  let refused = false
  it.api.onList = ({ query }) => {
    if (refused || query.get('limit') === '1') return undefined
    refused = true
    return { status: 429, headers: { 'retry-after': '1' }, body: failure(429, 'TooManyRequests') }
  }
  it.api.objects = []
  it.api.resourceVersion = '20'
  it.api.current()?.frame('ERROR', failure(410, 'Expired'))
  await it.watching('20')
  expectAtLeast(pauses(it.api.lists()).slice(1), [1_000])
  expect(await it.enqueued()).toEqual(['DELETED a@5 synthesized'])
})

/** A list of three pages; `refuses` decides which request gets a 429. */
function servePages(api: ScriptedApi, refuses: (token: string) => boolean, retryAfter: string): void {
  const tokens = ['', 't1', 't2']
  api.onList = ({ query }) => {
    const token = query.get('continue') ?? ''
    const page = tokens.indexOf(token)
    if (refuses(token))
      return { status: 429, headers: { 'retry-after': retryAfter }, body: failure(429, 'TooManyRequests') }
    const metadata = { resourceVersion: '20', continue: tokens[page + 1] ?? '' }
    return { body: { metadata, items: [configMap(`page-${page}`, 5)] } }
  }
}

const pagesOf = (api: ScriptedApi) => api.lists().map(({ query }) => query.get('continue') ?? '')

test('a page of a list that is answered 429 is asked for again as late as the server wants, and the list goes on', async () => {
  let refusals = 0
  await using it = await startWatchBed({
    prepare: (api) => servePages(api, (token) => token === 't1' && refusals++ === 0, '1'),
  })
  await it.watching('20')
  expect(pagesOf(it.api)).toEqual(['', 't1', 't1', 't2'])
  expectAtLeast(pauses(it.api.lists()).slice(1), [1_000])
})

test('a page that is refused again and again ends its list: the next one begins at the first page', async () => {
  let refusing = true
  await using it = await startWatchBed({
    prepare: (api) => servePages(api, (token) => refusing && token === 't1', '0'),
  })
  const begun = () => pagesOf(it.api).filter((token) => token === '').length
  await waitFor(() => begun() >= 2, { what: 'the second list' })
  const first = pagesOf(it.api).slice(1)
  expect(first.indexOf('')).toBeLessThan(10)
  refusing = false
  await it.watching('20')
})

test('a stop does not wait until the page that was refused may be asked for again', async () => {
  await using it = await startWatchBed({
    prepare: (api) => servePages(api, (token) => token === 't1', '20'),
  })
  await waitFor(() => pagesOf(it.api).includes('t1'), { what: 'the refusal' })
  const stopped = it.stop().then(() => true)
  await waitFor(() => Promise.race([stopped, pause(1_000)]), { timeoutMs: 2_000, what: 'the stop' })
})

const TOO_LARGE = failure(504, 'Timeout', {
  causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
})

test('case 34: a 504 of a server that lags behind is waited out from the same position', async () => {
  await using it = await startWatchBed()
  await it.watching('10')
  let refusals = 0
  it.api.intercept = ({ isWatch }, response) => {
    if (!isWatch || refusals >= 2) return false
    refusals++
    response.writeHead(504).end(JSON.stringify(TOO_LARGE))
    return true
  }
  it.api.script((watch) => watch.frame('ADDED', configMap('a', 11)))
  it.api.current()?.reset()
  await it.arrived(1)
  expect(refusals).toBe(2)
  expect(it.api.lists()).toHaveLength(1)
})

test('case 34: a position that stays too large for the server is one of before its restoration: the difference comes out', async () => {
  await using it = await startWatchBed({ objects: [configMap('a', 5), configMap('b', 9)] })
  await it.watching('10')
  it.api.objects = [configMap('a', 3)]
  it.api.resourceVersion = '7'
  it.api.intercept = ({ isWatch, query }, response) => {
    if (!isWatch || query.get('resourceVersion') !== '10') return false
    response.writeHead(504).end(JSON.stringify(TOO_LARGE))
    return true
  }
  it.api.current()?.reset()
  await it.watching('7')
  expect((await it.enqueued()).toSorted()).toEqual(['DELETED b@9 synthesized', 'MODIFIED a@3 synthesized'])
  expect(await it.metric('watch_relists_total')).toMatchObject([
    { labels: { cause: 'regression' }, value: 1 },
  ])
})
test('case 37: a 403 in mid-life is told in the status, tried again, and loses nothing', async () => {
  await using it = await startWatchBed()
  await it.watching('10')
  let forbidden = true
  it.api.intercept = ({ isWatch }, response) => {
    if (!isWatch || !forbidden) return false
    response.writeHead(403).end(JSON.stringify(failure(403, 'Forbidden')))
    return true
  }
  it.api.current()?.reset()
  await waitFor(() => it.statuses()[0]?.phase === 'failing', { what: 'the status to say so' })
  expect(it.statuses()[0]).toMatchObject({ ready: false, lastError: expect.stringContaining('403') })
  it.api.script((watch) => watch.frame('ADDED', configMap('a', 11)))
  forbidden = false
  await it.arrived(1)
  await waitFor(() => it.statuses()[0]?.ready, { what: 'the watch to be ready again' })
})

test('a kind that discovery names and the API server answers 404 to is asked for ever more slowly, and shown as failing', async () => {
  await using it = await startWatchBed({
    timing: { backoffFirstMs: 100, backoffMaxMs: 10_000 },
    random: () => 0.5,
    prepare(api) {
      api.intercept = ({ path }, response) => {
        if (!path.endsWith('/configmaps')) return false
        response.writeHead(404).end(JSON.stringify(failure(404, 'NotFound')))
        return true
      }
    },
  })
  const tries = () => it.api.requests.filter(({ path }) => path.endsWith('/configmaps'))
  await waitFor(() => tries().length >= 5, { what: 'five tries' })
  expectAtLeast(pauses(tries()), [50, 150, 250, 450])
  await waitFor(() => it.statuses()[0]?.phase === 'failing', { what: 'the failure in the status' })
  expect(it.statuses()).toMatchObject([{ ready: false, lastError: expect.stringContaining('404') }])
  it.api.intercept = undefined
  await it.watching('10')
})
