import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { findChromium, startBrowser } from '../servers/chromium.ts'
import { freePort } from '../servers/ports.ts'
import { waitFor } from '../wait-for.ts'
import { buildBundle, runBundle } from './bundle.ts'
import { median } from './pairs.ts'
import { serve } from './processes.ts'
import type { Row } from './row.ts'
import { answersOf } from './row-story.ts'
import { storeHistory } from './stored-history.ts'

const RECORDS = { own: 1_000, others: 9_000 }
const CHANGES_PER_SECOND = 20
/** Of one pair, each without anything of those before. */
const OPENED = 5
const MOST_MS = 300

interface Painted {
  firstMs: number
  /** When the overview has its figures and its newest deliveries. */
  completeMs: number
}

export const firstPaintRow: Row = {
  name: 'first-paint',
  title:
    'first contentful paint of the page in a new browser profile, and until the overview is complete / of a bare page',
  async measure(context) {
    const target = `≤ ${MOST_MS} ms`
    if (!findChromium()) return { ours: 'not measured: no Chromium', yardstick: '–', target, met: false }
    buildBundle()
    await using feed = await serve('./feed.ts', '1000000', String(CHANGES_PER_SECOND))
    await using hook = await serve('./hook.ts')
    await using redis = await context.startRedis()
    await storeHistory(redis.url, RECORDS)
    const port = await freePort()
    const sink = `{ type: webhook, url: "${hook.url}" }`
    await using bundle = runBundle(feed.url, redis.url, sink, { port })
    await answersOf(port, () => bundle.child.exitCode !== null)
    const url = `http://127.0.0.1:${port}/`
    await using bare = await serveBarePage()
    const browser = await startBrowser()
    const painted: { ours: Painted; bareMs: number }[] = []
    try {
      // Of the first one the browser itself is a part.
      await open(browser, url, COMPLETE)
      for (let i = 0; i < context.pairs * OPENED; i++) {
        const ours = await open(browser, url, COMPLETE)
        painted.push({ ours, bareMs: (await open(browser, bare.url, 'true')).firstMs })
      }
    } finally {
      await browser.close()
    }
    const first = median(painted.map(({ ours }) => ours.firstMs))
    const complete = median(painted.map(({ ours }) => ours.completeMs))
    return {
      ours: `${first.toFixed(0)} ms; ${complete.toFixed(0)} ms`,
      yardstick: `${median(painted.map(({ bareMs }) => bareMs)).toFixed(0)} ms`,
      ratio: median(painted.map(({ ours, bareMs }) => ours.firstMs / bareMs)),
      target,
      met: first <= MOST_MS,
    }
  },
}

/** What a browser takes for one line of text. */
async function serveBarePage(): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((_request, response) => {
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<!doctype html><title>bare</title><h1>bare</h1>')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Whether the overview has its figures and the newest deliveries. */
const COMPLETE = "document.querySelector('.figures') && document.querySelector('.records')"

/** Runs in the page before its own script: notes when a frame has everything. */
const noteComplete = (isComplete: string) => `
const look = () => {
  if (${isComplete}) window.completeMs = performance.now()
  else requestAnimationFrame(look)
}
requestAnimationFrame(look)
`
const READ_PAINT = `(() => {
  const [paint] = performance.getEntriesByName('first-contentful-paint')
  if (paint && window.completeMs) return { firstMs: paint.startTime, completeMs: window.completeMs }
})()`

async function open(browser: Browser, url: string, isComplete: string): Promise<Painted> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 } })
  try {
    await context.addInitScript(noteComplete(isComplete))
    const page = await context.newPage()
    await page.goto(url)
    let painted: Painted | undefined
    const read = async () => {
      painted = (await page.evaluate(READ_PAINT)) as Painted | undefined
      return painted !== undefined
    }
    await waitFor(read, { what: 'the overview' })
    return painted as unknown as Painted
  } finally {
    await context.close()
  }
}
