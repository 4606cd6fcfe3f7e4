import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startBrowser } from '../servers/chromium.ts'
import { waitFor } from '../wait-for.ts'
import { deployment, hostile, outage, type PageBed, SCRIPT, startPageBed, TOKENS, warning } from './bed.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const WIDE = { width: 1280, height: 800 }
const PHONE = { width: 390, height: 844 }

let bed: PageBed
let browser: Browser
let page: Page
/** What no text may cause: dialogs, errors, violations of the policy, requests to other servers. */
const incidents: string[] = []

beforeAll(async () => {
  bed = await startPageBed()
  browser = await startBrowser()
  page = await openPage(TOKENS.ops)
  bed.store.put(deployment('shop/web:1.42'))
  bed.store.put(warning('BackOff', 'Back-off restarting failed container web in pod web-1'))
  bed.store.put(warning('Unhealthy', 'Readiness probe failed: 503'))
  bed.store.put(hostile(1))
  await recorded(({ outcome, rule }) => outcome === 'delivered' && rule === 'settings')
  bed.store.put(warning('BackOff', 'Back-off restarting failed container web in pod web-1', 2))
  bed.store.put(hostile(2))
  await recorded(({ outcome }) => outcome === 'suppressed')
  for (const name of ['crash-loops', 'probes'])
    await recorded(({ outcome, rule }) => outcome === 'dead' && rule === name)
  await waitFor(async () => (await sink('bus')).lastError !== undefined, { what: 'the failure of bus' })
})

afterAll(async () => {
  await browser?.close()
  await bed?.[Symbol.asyncDispose]()
})

afterEach(() => {
  expect(incidents).toEqual([])
})

async function openPage(token?: string): Promise<Page> {
  const context = await browser.newContext({ viewport: WIDE, locale: 'en-GB', timezoneId: 'UTC' })
  if (token) await context.addInitScript(`sessionStorage.setItem('kubeherald-token', '${token}')`)
  const opened = await context.newPage()
  opened.setDefaultTimeout(20_000)
  opened.on('dialog', (dialog) => {
    incidents.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  opened.on('pageerror', (error) => incidents.push(`error: ${error.stack}`))
  opened.on('console', (message) => {
    // A refused token is asked for again.
    if (message.type() === 'error' && !message.text().includes('401')) incidents.push(message.text())
  })
  opened.on('request', (request) => {
    if (!request.url().startsWith(bed.url) && !request.url().startsWith('data:,'))
      incidents.push(request.url())
  })
  return opened
}

async function recorded(isWanted: (record: any) => boolean): Promise<void> {
  await waitFor(async () => (await bed.api('/history')).items.some(isWanted), {
    what: `a record: ${isWanted}`,
  })
}

async function sink(name: string): Promise<any> {
  return (await bed.api('/sinks')).items.find((it: any) => it.name === name)
}

/** Opens a view as a link of the page does: to load the page again takes three times the processor time. */
async function visit(path: string): Promise<void> {
  if (!page.url().startsWith(bed.url)) await page.goto(bed.url)
  await page.evaluate(`new Promise((done) => {
    history.pushState(null, '', ${JSON.stringify(path)})
    requestAnimationFrame(() => setTimeout(done))
  })`)
}

const row = (table: string, text: string) =>
  page.getByRole('table', { name: table }).locator('tbody', { hasText: text })

test('acceptance 1: what happens now', async () => {
  await visit('/')
  await expectText(page.getByRole('region', { name: 'Troubles' }), 'bus')
  await expectText(page.getByRole('link', { name: /^Dead letters 2/ }), '2')
  await expectText(page.getByRole('link', { name: /^Pending 1/ }), 'delivery waits')
  await expectText(page.locator('.records'), 'suppressed by throttle')
})

test('acceptance 1: what happened to shop/web, and who was notified with which text', async () => {
  await visit('/')
  await page.keyboard.press('/')
  await page.keyboard.type('shop/web')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/objects/Deployment/shop/web')
  const ofPage = 'Deployment shop/web · kubeherald'
  await waitFor(async () => (await page.title()) === ofPage, { what: `the title ${ofPage}` })
  const newest = page.locator('.story > details').first()
  await expectText(newest.locator('.sink-line', { hasText: 'oncall' }), 'delivered')
  await expectText(newest.locator('.sink-line', { hasText: 'bus' }), 'waiting')
  const title = await newest.locator('.sink-line', { hasText: 'oncall' }).locator('.stored b').innerText()
  expect(bed.oncall.requests.map((it) => it.body).join()).toContain(title)
  await expectText(newest.locator('.diff').last(), 'shop/web:1.42')
  for (const step of ['in lane', 'attempt 1', 'rendered in', 'answered'])
    await expectText(newest.locator('.waterfall').first(), step)
  await expectText(newest.locator('.rule-tree'), 'rollouts matched then')
})

test('acceptance 1: why an Event did not reach oncall: a limit suppressed it, or no rule matched', async () => {
  await visit('/?q=web-1')
  await page.locator('[data-results] a').first().click()
  await expectText(page.locator('[open] .sink-line', { hasText: 'oncall' }), 'suppressed by throttle until ')
  await page.locator('summary', { hasText: 'Unhealthy' }).click()
  const unhealthy = page.locator('details', { has: page.locator('summary', { hasText: 'Unhealthy' }) })
  const line = unhealthy.locator('.sink-line', { hasText: 'oncall' })
  await expectText(line, 'not matched')
  await expectText(line, 'reason BackOff; seen: Unhealthy')
})

test('acceptance 1: which sink is behind, since when, and why', async () => {
  await visit('/')
  await page.getByRole('navigation').getByRole('link', { name: 'Sinks' }).click()
  const bus = row('Sinks', 'bus')
  await expectText(bus, 'failing')
  await expectText(bus, 'ago')
  await expectText(bus, 'nobody listens')
  await bus.getByRole('link', { name: 'bus' }).click()
  await expectText(row('Lanes', 'bus'), '1')
})

test.each([
  [1, '1 target of it (a channel, a topic) fails.', '1 object in quarantine: it fails while others succeed.'],
  [
    2,
    '2 targets of it (a channel, a topic) fail.',
    '2 objects in quarantine: they fail while others succeed.',
  ],
])('a sink with %i failing target or object', async (count, targets, objects) => {
  await page.route('**/api/v1/sinks', async (route) => {
    const response = await route.fetch()
    const { items } = await response.json()
    const failing = { failingTargets: count, quarantined: count }
    await route.fulfill({ response, json: { items: items.map((it: any) => ({ ...it, ...failing })) } })
  })
  await visit('/sinks')
  for (const text of [targets, objects]) await expectText(page.locator('main table .why'), text)
  await page.unrouteAll({ behavior: 'wait' })
})

test('acceptance 1: what is among the dead letters, and to send it again', async () => {
  await visit('/')
  const listed = page.waitForResponse((it) => it.url().endsWith('/api/v1/dead-letters'))
  await page.getByRole('navigation').getByRole('link', { name: 'Dead letters' }).click()
  const shown = await listed
  await row('Groups', 'pager').getByRole('cell', { name: '2', exact: true }).waitFor()
  bed.pager.answer(() => ({ status: 200 }))
  const before = bed.pager.requests.length
  await row('Groups', 'pager').getByRole('button', { name: 'Retry' }).click()
  const asked = page.waitForRequest((it) => it.url().endsWith('/dead-letters/retry'))
  await page.getByRole('dialog').getByRole('button', { name: 'Send them again' }).click()
  // Those that the page has shown, and none that came since.
  const { newest } = await shown.json()
  expect((await asked).postDataJSON()).toMatchObject({ sink: 'pager', until: newest })
  await expectText(page.locator('main'), 'There are no dead letters')
  await waitFor(() => bed.pager.requests.length === before + 2, { what: 'both again' })
  expect(bed.pager.requests.slice(before).map((it) => it.status)).toEqual([200, 200])
})

test('acceptance 1: whether the ledger balances', async () => {
  await visit('/')
  await page.getByRole('navigation').getByRole('link', { name: 'Ledger' }).click()
  await expectText(page.locator('main'), 'The ledger balances.')
  const { sums } = await bed.api('/ledger')
  await expectText(page.getByRole('region', { name: 'Sum of all sinks' }), `${sums.sinks.enqueued} enqueued`)
})

test('the live view shows a change as it happens, and waits while it is paused', async () => {
  await visit('/live?rule=rollouts')
  await expectText(page.getByRole('status').first(), 'live')
  bed.store.put(deployment('shop/web:1.43'))
  await expectText(page.getByRole('region', { name: 'Live records' }), 'Deployment shop/web')
  await page.getByRole('button', { name: 'Pause' }).click()
  await expectText(page.locator('.live-state'), 'paused')
})

test('a hostile object is text everywhere', async () => {
  const { items } = await bed.api('/objects/ConfigMap/shop/hostile/events')
  for (const path of [
    '/',
    '/objects/ConfigMap/shop/hostile',
    `/events/${encodeURIComponent(items[0].id)}`,
    '/live',
  ]) {
    await visit(path)
    if (path === '/live') bed.store.put(hostile(3))
    await expectText(page.locator('main'), '<script>alert(1)</script>')
    await expectText(page.locator('main .code').first(), 'U+202E')
  }
  await visit('/objects/ConfigMap/shop/hostile')
  await expectText(page.locator('.side'), '28 more')
  expect(await page.locator('main img, main script, a[href^="javascript"]').count()).toBe(0)
  // Not ten thousand labels, and no megabyte.
  expect((await page.locator('main').innerText()).length).toBeLessThan(50_000)
  expect(await page.locator('main *').count()).toBeLessThan(1_500)
})

test('without a token the page asks for one; with the role read nothing can be changed', async () => {
  const reader = await openPage()
  await reader.goto(`${bed.url}/silences`)
  await reader.getByLabel('Token').fill('a-wrong-token-0123456789')
  await reader.keyboard.press('Enter')
  await expectText(reader.getByRole('alert'), 'does not accept')
  await reader.getByLabel('Token').fill(TOKENS.reader)
  await reader.keyboard.press('Enter')
  await expectText(reader.locator('main'), 'role "act"')
  expect(await reader.getByRole('button', { name: 'Silence' }).count()).toBe(0)
  expect(reader.url()).not.toContain('token')
  await reader.context().close()
})

test('while the API does not answer with the state, the page does not show an older one as if it held', async () => {
  const reader = await openPage(TOKENS.reader)
  await reader.goto(bed.url)
  await expectText(reader.locator('header .state'), 'trouble')
  await reader.route('**/api/v1/overview', (route) =>
    route.fulfill({ status: 503, json: { title: 'Service Unavailable', detail: 'Redis is not connected' } }),
  )
  await expectText(reader.locator('header .state'), 'state unknown')
  await expectText(reader.locator('main'), 'not updated: Service Unavailable')
  await reader.reload()
  await expectText(reader.getByRole('alert'), 'Redis is not connected')
  await reader.context().close()
  expect(incidents.splice(0).filter((it) => !it.includes('503'))).toEqual([])
})

test('where the token has expired the page shows no state of before', async () => {
  const reader = await openPage(TOKENS.reader)
  await reader.goto(bed.url)
  await expectText(reader.locator('header .state'), 'trouble')
  await reader.route('**/api/v1/**', (route) =>
    route.fulfill({ status: 401, json: { title: 'Unauthorized' } }),
  )
  await reader.getByLabel('Token').waitFor()
  expect(await reader.locator('header .state').innerText()).toBe('')
  await reader.context().close()
})

test('before the first answer the page claims nothing about history and journal', async () => {
  const reader = await openPage()
  await reader.goto(bed.url)
  await reader.getByLabel('Token').waitFor()
  expect(await reader.locator('footer').innerText()).not.toMatch(/history|journal/)
  await reader.context().close()
})

test('dead letters of an older page are chosen and dropped like those of the first', async () => {
  bed.pager.answer(() => ({ status: 400 }))
  // More than a page of the API.
  const count = 102
  for (let i = 0; i < count; i++) unhealthy(`web-1.${i}`)
  const total = async () => (await bed.api('/dead-letters')).total
  await waitFor(async () => (await total()) === count, { what: 'all dead letters' })
  await visit('/dead-letters')
  await page.getByRole('button', { name: 'Older ones' }).click()
  await waitFor(async () => (await page.locator('.letters > li').count()) === count, {
    what: 'all of them listed',
  })
  await page.locator('.letters input').nth(1).check()
  await page.locator('.letters input').last().check()
  const chosen = page.locator('.chosen')
  await expectText(chosen, '2 dead letters chosen')
  await chosen.getByRole('button', { name: 'Drop' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Drop them' }).click()
  await waitFor(async () => (await total()) === count - 2, { what: 'two fewer' })
  await waitFor(async () => (await page.locator('.letters > li').count()) === count - 2, {
    what: 'two fewer listed',
  })
  expect(await chosen.count()).toBe(0)
  await row('Groups', 'pager').getByRole('button', { name: 'Drop' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Drop them' }).click()
  await expectText(page.locator('main'), 'There are no dead letters')
})

test('lists whose older pages are open keep what they show while more comes', async () => {
  bed.pager.answer(() => ({ status: 400 }))
  // More than a page of the API.
  for (let i = 0; i < 102; i++) {
    unhealthy(`web-2.${i}`)
    setting(i)
  }
  await waitFor(async () => (await bed.api('/dead-letters')).total === 102, { what: 'all dead letters' })
  const delivered = () => bed.oncall.requests.filter(({ body }) => body.includes('setting 101')).length
  await waitFor(() => delivered() > 0, { what: 'all settings' })
  for (const [path, older, rows, add] of [
    ['/dead-letters', 'Older ones', '.letters > li', (i: number) => unhealthy(`web-3.${i}`)],
    ['/objects/ConfigMap/shop/many', 'Older changes', '.story > details', (i: number) => setting(200 + i)],
  ] as const) {
    await visit(path)
    const listed = () => page.locator(rows).count()
    await page.getByRole('button', { name: older }).waitFor()
    const first = await listed()
    await page.getByRole('button', { name: older }).click()
    await waitFor(async () => (await listed()) > first, { what: `more of ${path}` })
    const before = await listed()
    add(1)
    add(2)
    await waitFor(async () => (await listed()) === before + 2, { what: `both new ones of ${path}` })
  }
  await visit('/dead-letters')
  await row('Groups', 'pager').getByRole('button', { name: 'Drop' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Drop them' }).click()
  await expectText(page.locator('main'), 'There are no dead letters')
})

function setting(i: number): void {
  bed.store.put({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'many', namespace: 'shop' },
    data: { title: `setting ${i}`, text: '-' },
  } as never)
}

function unhealthy(name: string): void {
  const event = warning('Unhealthy', 'Readiness probe failed: 503')
  bed.store.put({ ...event, metadata: { ...event.metadata, name } })
}

test('a silence is added and ended', async () => {
  // A namespace of its own: processes read a moment later that it has ended.
  await visit('/silences')
  await page.getByLabel('namespace').fill('quiet')
  // The comma is of the regular expression.
  const names = String.raw`/^web-\d{1,3}$/`
  await page.getByLabel('name', { exact: true }).fill(names)
  await page.getByLabel('why').fill('roll-out of 1.44')
  await page.getByRole('button', { name: 'Silence' }).click()
  await expectText(row('Silences', 'quiet'), 'roll-out of 1.44')
  await expectText(row('Silences', 'quiet'), names)
  await row('Silences', 'quiet').getByRole('button', { name: 'End now' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'End it' }).click()
  await waitFor(async () => (await bed.api('/overview')).silences === 0, { what: 'the end of the silence' })
})

test('an incident is acknowledged, and repeats no more', async () => {
  bed.store.put(outage(1))
  await recorded(({ outcome, rule }) => outcome === 'delivered' && rule === 'outages')
  await visit('/')
  const incident = row('Open incidents', 'outage-1')
  await incident.getByRole('button', { name: 'Acknowledge' }).click()
  await expectText(incident, 'by token:ops')
  bed.store.put(outage(2))
  await recorded(({ limit, rule }) => limit === 'acknowledged' && rule === 'outages')
})

test('a hostile answer of a receiver and a hostile reason of a silence are text, too', async () => {
  const isRefused = (it: any) => it.event?.name === 'hostile-refused'
  bed.pager.answer(() => ({ status: 400, body: `${SCRIPT} \u202egpj.exe` }))
  bed.store.put(hostile(1, 'hostile-refused'))
  await waitFor(async () => (await bed.api('/dead-letters')).items.some(isRefused), { what: 'a dead letter' })
  const silence = {
    match: { namespace: 'nowhere' },
    untilMs: Date.now() + 3_600_000,
    reason: `${SCRIPT} \u202e`,
  }
  await fetch(`${bed.url}/api/v1/silences`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKENS.ops}`, 'content-type': 'application/json' },
    body: JSON.stringify(silence),
  })
  await visit('/dead-letters')
  await page.locator('.letters summary').first().click()
  await expectText(page.locator('.letters .object-json'), 'hostile-refused')
  await expectText(page.locator('.letters'), '<script>alert(1)</script>')
  await expectText(page.locator('.letters .code').first(), 'U+202E')
  await visit('/silences')
  await expectText(row('Silences', 'nowhere'), '<script>alert(1)</script>')
  await expectText(row('Silences', 'nowhere').locator('.code').first(), 'U+202E')
  expect(await page.locator('main img, main script').count()).toBe(0)
})

/** In place of the stream: 10,000 records a second, as they come from a server that keeps up. */
const FLOOD = `
const own = window.fetch
window.fetch = (address, options) => {
  if (!String(address).includes('/api/v1/stream')) return own(address, options)
  let at = 0
  const recordAt = (i) => ({
    ...{ outcome: 'delivered', atMs: Date.now(), rule: 'flood', sinks: ['bus'], attempts: [] },
    event: { id: 'c/u/' + i + '/ADDED', type: 'ADDED', apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web-' + i },
  })
  const messageAt = (i) => 'id: ' + i + '\\nevent: record\\ndata: ' + JSON.stringify(recordAt(i)) + '\\n\\n'
  const portion = () => Array.from({ length: 2_500 }, () => messageAt(++at)).join('')
  const body = new ReadableStream({
    start: (stream) => void setInterval(() => stream.enqueue(new TextEncoder().encode(portion())), 250),
  })
  return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }))
}`

test('at 10,000 records a second the live view lists a sample, shows that it does, and answers', async () => {
  const flooded = await openPage(TOKENS.ops)
  await flooded.context().addInitScript(FLOOD)
  await flooded.goto(`${bed.url}/live`)
  const state = flooded.locator('.live-state')
  const received = async () =>
    Number(/([\d,]+) received/.exec(await state.innerText())?.[1]?.replaceAll(',', ''))
  await expectText(state, 'a sample: ')
  await waitFor(async () => (await received()) > 20_000, { what: '20,000 records' })
  expect(await flooded.locator('.virtual li').count()).toBeLessThan(100)
  await flooded.getByRole('button', { name: 'Pause' }).click()
  await expectText(state, 'paused')
  const first = () => flooded.locator('.virtual li').first().innerText()
  const [shown, before] = [await first(), await received()]
  await waitFor(async () => (await received()) > before + 5_000, { what: 'more records' })
  expect(await first()).toBe(shown)
  await flooded.getByRole('link', { name: 'Ledger' }).click()
  await expectText(flooded.locator('main'), 'The ledger balances.')
  await flooded.context().close()
})

test('an object that nobody knows: since when the history goes back, and what is watched', async () => {
  await visit('/objects/Deployment/shop/gone')
  await expectText(page.locator('.empty'), 'The history goes back to')
  await expectText(page.locator('.empty'), 'deployments.apps')
})

test('of an object that may wait behind more deliveries than were searched, the page does not claim to know nothing', async () => {
  const none = { items: [], isComplete: false, watched: ['deployments.apps (all namespaces)'] }
  await page.route(/\/api\/v1\/objects[/?]/, (route) => route.fulfill({ json: none }))
  await visit('/objects/Deployment/shop/behind')
  await expectText(page.locator('.empty'), 'deployments.apps')
  expect(await page.locator('.empty').innerText()).not.toMatch(/nothing is known/i)
  await page.unroute(/\/api\/v1\/objects[/?]/)
})

test('the keyboard alone reaches an explanation', async () => {
  await page.goto(bed.url)
  await page.locator('h1').waitFor()
  await page.keyboard.press('Tab')
  expect(await focused()).toBe('Skip to the content')
  await page.keyboard.press('/')
  await page.keyboard.type('web')
  // Where keys come slowly, their first letters are searched for, too.
  await page.getByRole('heading', { name: 'Search: web', exact: true }).waitFor()
  await page.locator('[data-results] a').first().waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/objects/**')
  await page.locator('summary').nth(1).waitFor()
  await page.keyboard.press('Tab')
  expect(await page.evaluate('document.activeElement.tagName')).toBe('SUMMARY')
})

/** Each view in both widths and both themes, and the views together in all combinations: a run of all rules takes long. */
const COMBINATIONS = [
  [
    { size: WIDE, colorScheme: 'light' },
    { size: PHONE, colorScheme: 'dark' },
  ],
  [
    { size: WIDE, colorScheme: 'dark' },
    { size: PHONE, colorScheme: 'light' },
  ],
] as const

test('axe finds nothing in any view, in light and dark, wide and on a phone', async () => {
  const { items } = await bed.api('/objects/Deployment/shop/web/events')
  const views = [
    ...[
      '/',
      '/?q=web',
      '/?q=nothing-at-all',
      '/objects/Deployment/shop/web',
      '/objects/Deployment/shop/gone',
    ],
    ...[`/events/${encodeURIComponent(items[0].id)}`, '/sinks', '/dead-letters', '/rules?rule=rollouts'],
    ...['/watches', '/silences', '/ledger', '/live', '/sinks/bus'],
  ]
  await page.evaluate(AXE)
  for (const [index, path] of views.entries()) {
    await visit(path)
    await waitFor(async () => (await page.locator('.loading').count()) === 0, { what: `all of ${path}` })
    if (path === '/live') await recordsInView()
    // The sinks were asked since the view of all of them, so that there are rates.
    if (path === '/sinks/bus') await page.locator('.chart canvas').waitFor()
    for (const { size, colorScheme } of COMBINATIONS[index % 2] ?? []) {
      await page.setViewportSize(size)
      await page.emulateMedia({ colorScheme })
      expect(await violations(), `${path}, ${colorScheme}, ${size.width}`).toEqual([])
      const width = await page.evaluate('document.documentElement.scrollWidth')
      expect(width, `${path} is wider than the screen`).toBeLessThanOrEqual(size.width)
    }
    if (path === '/dead-letters') await withDialog(async () => expect(await violations()).toEqual([]))
  }
})

test('no view is wider than a tablet or a small laptop, and tables break at spaces only', async () => {
  for (const width of [800, 1024, 1110]) {
    await page.setViewportSize({ width, height: 800 })
    for (const path of ['/', '/sinks', '/rules', '/watches', '/silences', '/ledger']) {
      await visit(path)
      await waitFor(async () => (await page.locator('.loading').count()) === 0, { what: `all of ${path}` })
      expect(await page.evaluate(BROKEN), `${path} at ${width}`).toEqual([])
      const scrolled = await page.evaluate('document.documentElement.scrollWidth')
      expect(scrolled, `${path} at ${width}`).toBeLessThanOrEqual(width)
    }
  }
})

test('the exact time is within the screen where the pointer is', async () => {
  for (const width of [PHONE.width, 800]) {
    await page.setViewportSize({ width, height: 844 })
    for (const path of ['/', '/sinks', '/rules', '/objects/Deployment/shop/web', '/ledger', '/?q=web']) {
      await visit(path)
      const times = page.locator('main time:visible')
      await times.first().waitFor()
      for (const time of (await times.all()).slice(0, 5)) {
        // A row may move away from the pointer.
        const { x, width: wide } = await waitFor(
          async () => {
            await time.hover()
            return time.locator('.exact').boundingBox()
          },
          { what: `the exact time of ${path} at ${width}` },
        )
        expect([x >= 0, x + wide <= width], `${await time.innerText()} of ${path} at ${width}`).toEqual([
          true,
          true,
        ])
      }
    }
  }
})

/** Short texts of tables that are broken between two letters; long names may be. */
const BROKEN = `(() => {
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
  const broken = []
  while (texts.nextNode()) {
    const { currentNode: node } = texts
    if (!node.parentElement.closest('table')) continue
    for (const { 0: text, index } of node.data.matchAll(/[\\w.]{1,16}/g)) {
      const range = document.createRange()
      range.setStart(node, index)
      range.setEnd(node, index + text.length)
      if (new Set([...range.getClientRects()].map((it) => Math.round(it.top))).size > 1) broken.push(text)
    }
  }
  return broken
})()`

async function withDialog(look: () => Promise<void>): Promise<void> {
  await row('Groups', 'pager').getByRole('button', { name: 'Drop' }).click()
  await page.getByRole('dialog').waitFor()
  await look()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

async function recordsInView(): Promise<void> {
  await expectText(page.getByRole('status').first(), 'live')
  bed.store.put(deployment('shop/web:1.44'))
  await page.locator('.virtual .record').first().waitFor()
}

async function violations(): Promise<string[]> {
  // None of its rules needs the text of style sheets.
  const options = JSON.stringify({ resultTypes: ['violations'], preload: false })
  const found = (await page.evaluate(`axe.run(document, ${options})`)) as {
    violations: { id: string; nodes: { html: string; failureSummary: string }[] }[]
  }
  return found.violations.map(
    ({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary}`,
  )
}

async function focused(): Promise<string> {
  return String(await page.evaluate('document.activeElement.textContent'))
}

async function expectText(locator: ReturnType<Page['locator']>, text: string): Promise<void> {
  await locator.filter({ hasText: text }).first().waitFor()
}
