import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { createSite } from '../../src/observe/server/site.ts'
import { startBrowser } from '../servers/chromium.ts'

/** Answers a request to the API itself, or returns what is answered: an answer as JSON, or a status with a problem. */
type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

/** The page in a browser, with an API whose answers the test has: for answers that a real one rarely gives. */
export interface ScriptedPage {
  /** Requests to the API, the oldest first: the path below /api/v1, with the query. */
  readonly requests: { path: string; headers: IncomingHttpHeaders }[]
  /** Answers requests for a path from now on; `path` is without the query. */
  answer(path: string, how: Answer): void
  /** Opens a page in a context of its own. `prepare` is called before it is loaded. */
  open(path: string, prepare?: (page: Page) => Promise<unknown>): Promise<Page>
}

interface StartedPage extends ScriptedPage, AsyncDisposable {
  /** Closes the pages and forgets answers and requests. Returns the errors that nothing has caught. */
  reset(): Promise<string[]>
}

/** Starts one for all tests of a file. After each, its pages are closed, and it has had no error that nothing has caught. */
export function useScriptedPage(): ScriptedPage {
  let bed: StartedPage | undefined
  const started = () => {
    if (!bed) throw new Error('the page is not started yet')
    return bed
  }
  beforeAll(async () => {
    bed = await startScriptedPage()
  })
  afterAll(() => bed?.[Symbol.asyncDispose]())
  afterEach(async () => expect(await started().reset()).toEqual([]))
  return {
    get requests() {
      return started().requests
    },
    answer: (path, how) => started().answer(path, how),
    open: (path, prepare) => started().open(path, prepare),
  }
}

async function startScriptedPage(): Promise<StartedPage> {
  await using stack = new AsyncDisposableStack()
  const requests: ScriptedPage['requests'] = []
  const answers = new Map<string, Answer>()
  const errors: string[] = []
  const pages: Page[] = []
  const site = createSite({
    access: () => ({ page: () => undefined, api: () => ({ name: 'test', role: 'act' }) }),
    async api({ request, response, path, query }) {
      const own = path.slice('/api/v1'.length)
      requests.push({ path: query.size > 0 ? `${own}?${query}` : own, headers: request.headers })
      const answer = answers.get(own) ?? USUAL[own] ?? (() => problem(404))
      const value = await answer(request, response)
      if (value === undefined) return
      const status = value instanceof Problem ? value.status : 200
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    },
    onRefused: () => {},
  })
  const server = createServer((request, response) => void site(request, response))
  stack.defer(() => {
    server.close()
    server.closeAllConnections()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const browser: Browser = await startBrowser()
  stack.defer(() => browser.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const moved = stack.move()
  return {
    requests,
    answer: (path, how) => void answers.set(path, how),
    async open(path, prepare) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
      const page = await context.newPage()
      pages.push(page)
      page.on('pageerror', (error) => errors.push(String(error.stack)))
      await prepare?.(page)
      await page.goto(url + path)
      return page
    },
    async reset() {
      for (const page of pages.splice(0)) await page.context().close()
      answers.clear()
      requests.length = 0
      return errors.splice(0)
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  }
}

class Problem {
  readonly type = 'about:blank'
  readonly title = 'a problem'
  readonly detail = 'as the test wants it'
  readonly status: number

  constructor(status: number) {
    this.status = status
  }
}

/** An answer that is no success (RFC 9457). */
export function problem(status: number): unknown {
  return new Problem(status)
}

/** Begins a stream of server-sent events. */
export function stream(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(text)
}

const NOW = Date.now()
const FINE = { total: 1, failing: 0, behind: 0 }
const USUAL: Readonly<Record<string, Answer>> = {
  '/access': () => ({ name: 'test', role: 'act', cluster: 'test', version: '1' }),
  '/overview': () => ({
    ...{ cluster: 'test', version: '1', atMs: NOW, access: 'act', processes: [], troubles: [] },
    ...{ watches: FINE, sinks: FINE, deadLetters: 0, pending: 0, silences: 0, balanced: true },
  }),
  '/incidents': () => ({ items: [], isComplete: true }),
  '/history': () => ({ items: [] }),
  '/sinks': () => ({ items: [] }),
  '/rules': () => ({ items: [] }),
}
