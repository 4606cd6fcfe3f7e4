import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { objectLink } from '../../src/observe/page/links.ts'
import { waitFor } from '../wait-for.ts'
import { problem, useScriptedPage } from './scripted-page.ts'

const bed = useScriptedPage()

const shows = (page: Page, text: string, place = 'main') =>
  page.locator(place).filter({ hasText: text }).first().waitFor()

const ID = 'c/uid/5/MODIFIED'
const EVENT = { type: 'MODIFIED', kind: 'Pod', namespace: 'shop', name: 'web-1' }
const STORY_PATH = '/objects/Pod/shop/web-1/events'
const itemOf = (id: string, ...outcomes: object[]) => ({ ...EVENT, id, atMs: Date.now(), outcomes })
const at = (atMs: number, sink: string, outcome: string, more: object = {}) => ({
  ...{ sink, rule: 'all', outcome, atMs, attempts: 1 },
  ...more,
})
const eventStory = (outcome: string) => ({
  ...{ id: ID, event: { ...EVENT, id: ID, apiVersion: 'v1' }, isComplete: true },
  sinks: [{ ...at(1, 'oncall', outcome), attempts: [], attemptCount: 0 }],
})

test.each([
  ['ConfigMap', 'kube-system', 'system:node'],
  ['Pod', undefined, 'a@b'],
])(
  'the story of the %s %s/%s is that of its name, which an address encodes',
  async (kind, namespace, name) => {
    const encoded = `/objects/${kind}/${namespace ?? '_'}/${encodeURIComponent(name)}/events`
    bed.answer(encoded, () => ({ items: [itemOf(ID, at(1, 'oncall', 'delivered'))], isComplete: true }))
    const page = await bed.open(objectLink({ kind, namespace, name }))
    await page.locator('.story summary').waitFor()
    expect(await page.locator('h1').innerText()).toContain(name)
  },
)

test('an address that cannot be decoded is shown as one of which nothing is known', async () => {
  const page = await bed.open('/events/%25zz')
  await page.evaluate("history.pushState(null, '', '/events/%zz')")
  await page.getByRole('alert').waitFor()
})

test('a server that is silent is one without an answer, not one where all is well', async () => {
  const page = await bed.open('/', (it) => it.clock.install())
  await shows(page, 'all well', 'header .state')
  for (const path of ['/access', '/overview', '/incidents', '/history']) bed.answer(path, () => undefined)
  const before = bed.requests.length
  await page.clock.fastForward(4_000)
  await waitFor(() => bed.requests.slice(before).some(({ path }) => path === '/overview'), {
    what: 'a request that is not answered',
  })
  await page.clock.fastForward(35_000)
  await shows(page, 'no answer', 'header .state')
})

test.each([
  ['wide', 1280],
  ['on a phone', 390],
])(
  'a link of the navigation is where it was when the state comes while it is pressed, %s',
  async (_, width) => {
    const { promise: asked, resolve: answer } = Promise.withResolvers<void>()
    const some = { total: 12, failing: 12, behind: 0 }
    bed.answer('/overview', async () => {
      await asked
      return {
        ...{ cluster: 'test', version: '1', atMs: Date.now(), access: 'act', processes: [], troubles: [] },
        ...{ watches: some, sinks: some, deadLetters: 1_200, pending: 0, silences: 12, balanced: false },
      }
    })
    const page = await bed.open('/', (it) => it.setViewportSize({ width, height: 800 }))
    const links = page.getByRole('navigation').getByRole('link')
    await links.last().hover()
    await page.mouse.down()
    answer()
    await links.filter({ hasText: '12 failing' }).first().waitFor()
    await page.mouse.up()
    await page.waitForURL('**/ledger')
  },
)

test('an event whose records are on two pages has one row with all of them', async () => {
  bed.answer(STORY_PATH, ({ url }) =>
    url?.includes('cursor')
      ? {
          items: [
            itemOf(ID, at(2, 'chat', 'delivered'), at(3, 'pager', 'dead', { reason: 'rejected' })),
            itemOf('c/uid/4/MODIFIED', at(1, 'chat', 'delivered')),
          ],
          isComplete: true,
        }
      : {
          items: [
            itemOf('c/uid/6/MODIFIED', at(9, 'bus', 'delivered')),
            itemOf(
              ID,
              at(8, 'bus', 'delivered'),
              at(3, 'pager', 'dead', { attempts: 0, reason: 'rejected', deadLetterId: '1-0' }),
            ),
          ],
          next: 'behind',
          isComplete: true,
        },
  )
  bed.answer(`/events/${encodeURIComponent('c/uid/6/MODIFIED')}`, () => eventStory('delivered'))
  const page = await bed.open('/objects/Pod/shop/web-1')
  await page.getByRole('button', { name: 'Older changes' }).click()
  const rows = page.locator('.story > details')
  await waitFor(async () => (await rows.count()) === 3, { what: 'a row for each event' })
  const outcomes = await rows.nth(1).locator('.outcomes b').allInnerTexts()
  expect(outcomes.toSorted()).toEqual(['bus', 'chat', 'pager'])
})

test('a token that no header can have is refused, and asked for again', async () => {
  bed.answer('/overview', ({ headers }) => (headers.authorization ? undefined : problem(401)))
  const page = await bed.open('/')
  await page.getByLabel('Token').fill('abc\u200bdef0123456789xx')
  await page.keyboard.press('Enter')
  await page
    .locator('form', { has: page.getByLabel('Token') })
    .getByRole('alert')
    .waitFor()
  expect(await page.evaluate('sessionStorage.length')).toBe(0)
})

test.each(['/objects/Pod/shop/web-1', `/events/${encodeURIComponent(ID)}`])(
  'a delivery that waits when %s is opened is shown as delivered once it is',
  async (path) => {
    let outcome = 'waiting'
    bed.answer(STORY_PATH, () => ({ items: [itemOf(ID, at(1, 'oncall', outcome))], isComplete: true }))
    bed.answer(`/events/${encodeURIComponent(ID)}`, () => eventStory(outcome))
    const page = await bed.open(path)
    await shows(page, 'waiting', '.sink-line')
    outcome = 'delivered'
    await shows(page, 'delivered', '.sink-line')
  },
)

test('where rules are missing, their reason is shown, and no advice to configure a journal', async () => {
  bed.answer(`/events/${encodeURIComponent(ID)}`, () => ({
    ...eventStory('delivered'),
    rulesMissing: 'the reason',
  }))
  const page = await bed.open(`/events/${encodeURIComponent(ID)}`)
  await shows(page, 'the reason', '.side')
  expect(await page.locator('.side').innerText()).not.toContain('keep: 24h')
})

test('an event that could not be had is asked for again without a click', async () => {
  let fails = true
  bed.answer(`/events/${encodeURIComponent(ID)}`, (_, response) => {
    if (!fails) return eventStory('delivered')
    response.destroy()
  })
  const page = await bed.open(`/events/${encodeURIComponent(ID)}`)
  await page.getByRole('alert').waitFor()
  fails = false
  await shows(page, 'delivered', '.sink-line')
})

test('the view of an event asks for it once', async () => {
  bed.answer(`/events/${encodeURIComponent(ID)}`, () => eventStory('delivered'))
  const page = await bed.open(`/events/${encodeURIComponent(ID)}`)
  await shows(page, 'delivered', '.sink-line')
  await shows(page, 'Pod', 'h1')
  expect(bed.requests.filter(({ path }) => path.startsWith('/events/'))).toHaveLength(1)
})

test('where incidents cannot be read the overview shows that, and not that none is open', async () => {
  bed.answer('/incidents', () => problem(503))
  const page = await bed.open('/')
  await page.getByRole('heading', { name: /incident/ }).waitFor()
  await page.getByRole('alert').waitFor()
})

test('of many incidents the overview draws the first ones, and shows that there may be more', async () => {
  const incidentOf = (_: unknown, i: number) => ({
    ...{ rule: 'outages', key: `outages:${i}`, object: `Pod shop/web-${i}` },
    ...{ sinceMs: i, notifications: 1 },
  })
  bed.answer('/incidents', () => ({ items: Array.from({ length: 3_000 }, incidentOf), isComplete: false }))
  const page = await bed.open('/')
  const rows = page.getByRole('table', { name: 'Open incidents' }).locator('tbody')
  await rows.first().waitFor()
  expect(await rows.count()).toBeLessThanOrEqual(200)
  await shows(page, '3,000')
  await page.locator('section', { has: rows.first() }).locator('.note').waitFor()
  const before = await rows.count()
  await page.getByRole('button', { name: /more/ }).click()
  await waitFor(async () => (await rows.count()) > before, { what: 'more rows' })
})
