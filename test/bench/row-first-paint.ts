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
  title: 'first contentful paint of the page in a new browser profile; until the overview is complete',
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
    const browser = await startBrowser()
    const painted: Painted[] = []
    try {
      // Of the first one the browser itself is a part.
      await open(browser, port)
      for (let i = 0; i < context.pairs * OPENED; i++) painted.push(await open(browser, port))
    } finally {
      await browser.close()
    }
    const [first, complete] = [
      median(painted.map(({ firstMs }) => firstMs)),
      median(painted.map(({ completeMs }) => completeMs)),
    ]
    return {
      ours: `${first.toFixed(0)} ms; ${complete.toFixed(0)} ms`,
      yardstick: '–',
      target,
      met: first <= MOST_MS,
    }
  },
}

/** Runs in the page before its own script: notes when a frame has everything. */
const NOTE_COMPLETE = `
const look = () => {
  if (document.querySelector('.figures') && document.querySelector('.records')) window.completeMs = performance.now()
  else requestAnimationFrame(look)
}
requestAnimationFrame(look)
`
const READ_PAINT = `(() => {
  const [paint] = performance.getEntriesByName('first-contentful-paint')
  if (paint && window.completeMs) return { firstMs: paint.startTime, completeMs: window.completeMs }
})()`

async function open(browser: Browser, port: number): Promise<Painted> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 } })
  try {
    await context.addInitScript(NOTE_COMPLETE)
    const page = await context.newPage()
    await page.goto(`http://127.0.0.1:${port}/`)
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
