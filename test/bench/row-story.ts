import { findChromium, startBrowser } from '../servers/chromium.ts'
import { freePort } from '../servers/ports.ts'
import { waitFor } from '../wait-for.ts'
import { buildBundle, runBundle } from './bundle.ts'
import { median, quantile } from './pairs.ts'
import { serve } from './processes.ts'
import type { BenchContext, Row } from './row.ts'
import { storeHistory } from './stored-history.ts'

const OWN = 10_000
const OTHERS = 90_000
const WARM_UP = 5
/** Of one pair. */
const ASKED = 40
const OPENED = 8
const MOST_MS = 200

/** The first page of the story, as the page asks for it; all of the object's records, page by page. */
const PATHS = {
  story: '/api/v1/objects/Deployment/shop/web/events',
  history: '/api/v1/history?kind=Deployment&namespace=shop&name=web&limit=500',
}

export const storyRow: Row = {
  name: 'story',
  title: `the story of an object with ${OWN.toLocaleString('en')} attempts in a history of ${(OWN + OTHERS).toLocaleString('en')}: from the request to the last byte, and in the page from the navigation to the drawn rows`,
  async measure(context) {
    buildBundle()
    await using feed = await serve('./feed.ts')
    await using redis = await context.startRedis()
    await storeHistory(redis.url, { own: OWN, others: OTHERS })
    const port = await freePort()
    await using bundle = runBundle(feed.url, redis.url, '{ type: stdout }', { port })
    await answersOf(port, () => bundle.child.exitCode !== null)
    const [story, page] = [
      await timesOf(port, PATHS.story, context),
      await timesOf(port, PATHS.history, context),
    ]
    const drawn = findChromium() ? await drawnMs(port, context) : undefined
    const isMet = [story, page, drawn ?? [Number.POSITIVE_INFINITY]].every((it) => median(it) <= MOST_MS)
    return {
      ours: `${describe(story)}; 500 records of it ${describe(page)}; in the page ${drawn ? describe(drawn) : 'not measured: no Chromium'}`,
      yardstick: '–',
      target: `≤ ${MOST_MS} ms`,
      met: isMet,
    }
  },
}

/** Resolves when the program serves the API. */
export async function answersOf(port: number, hasEnded: () => boolean): Promise<void> {
  const url = `http://127.0.0.1:${port}/api/v1/access`
  const isThere = async () => (await fetch(url).catch(() => undefined))?.ok === true
  await waitFor(async () => hasEnded() || (await isThere()), { what: 'the API', timeoutMs: 60_000 })
  if (hasEnded()) throw new Error('the program has ended')
}

async function timesOf(port: number, path: string, { pairs }: BenchContext): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < WARM_UP + pairs * ASKED; i++) {
    const startedMs = performance.now()
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    const { items } = (await response.json()) as { items: unknown[] }
    if (!response.ok || items.length < 100) throw new Error(`${path}: ${response.status}, ${items?.length}`)
    if (i >= WARM_UP) times.push(performance.now() - startedMs)
  }
  return times
}

/** In the page: goes to the object as a link does, and looks in each frame whether its rows are there. */
const OPEN = `new Promise((resolve) => {
  const startedMs = performance.now()
  history.pushState(null, '', '/objects/Deployment/shop/web')
  const look = () => {
    if (document.querySelectorAll('.story .row-summary').length > 20) resolve(performance.now() - startedMs)
    else requestAnimationFrame(look)
  }
  look()
})`

async function drawnMs(port: number, { pairs }: BenchContext): Promise<number[]> {
  const browser = await startBrowser()
  try {
    const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } })
    const times: number[] = []
    for (let i = 0; i < WARM_UP + pairs * OPENED; i++) {
      await page.goto(`http://127.0.0.1:${port}/`)
      await page.locator('.figures').waitFor()
      const tookMs = (await page.evaluate(OPEN)) as number
      if (i >= WARM_UP) times.push(tookMs)
    }
    return times
  } finally {
    await browser.close()
  }
}

function describe(times: readonly number[]): string {
  return `${median(times).toFixed(0)} ms, p99 ${quantile(times, 0.99).toFixed(0)} ms`
}
