import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { problem, stream, useScriptedPage } from './scripted-page.ts'

const bed = useScriptedPage()

const streams = () => bed.requests.filter(({ path }) => path.split('?')[0] === '/stream')
const recordOf = (name: string) => ({
  ...{ outcome: 'delivered', atMs: Date.now(), rule: 'all', sinks: ['bus'], attempts: [] },
  event: { id: `c/${name}/1/ADDED`, type: 'ADDED', apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name },
})
const recordText = (name: string) => `event: record\ndata: ${JSON.stringify(recordOf(name))}\n\n`
const shows = (page: Page, text: string) => page.locator('main').filter({ hasText: text }).waitFor()

/** Frames come when the test lets them, as in a tab that nobody sees: `frames()`. */
const HELD_FRAMES = `
let held = []
window.requestAnimationFrame = (show) => held.push(show)
window.frames = () => held.splice(0).forEach((show) => show(0))`

test('the live view resumes at the position of a comment, where no record has come', async () => {
  const first = 'retry: 1000\nid: 5-0.1~0-0.0\n\n: on\nid: 6-0.1~0-0.0\n\n'
  bed.answer('/stream', (_, response) => {
    if (streams().length > 1) return stream(response, ': on\n\n')
    stream(response, first)
    response.end()
  })
  await bed.open('/live?outcome=dead')
  await waitFor(() => streams().length > 1, { what: 'a second request' })
  expect(streams()[1]?.headers['last-event-id']).toBe('6-0.1~0-0.0')
})

test('the live view connects again where a stream stays open and silent', async () => {
  bed.answer('/stream', (_, response) => stream(response, `id: 7-0.1~0-0.0\n\n${recordText('web-1')}`))
  const page = await bed.open('/live', (it) => it.clock.install())
  await shows(page, 'web-1')
  // A comment is due every 15 s.
  await waitFor(
    async () => {
      await page.clock.fastForward(60_000)
      return streams().length > 1
    },
    { what: 'a second request' },
  )
  expect(streams()[1]?.headers['last-event-id']).toBe('7-0.1~0-0.0')
})

test('what a stream sent before its end does not make the live view live again', async () => {
  bed.answer('/stream', (_, response) => {
    if (streams().length > 1) return problem(404)
    stream(response, recordText('web-1'))
    return void response.end()
  })
  const page = await bed.open('/live', (it) => it.addInitScript(HELD_FRAMES))
  await page.getByRole('alert').waitFor()
  await page.evaluate('frames()')
  await shows(page, 'web-1')
  expect(await page.getByRole('alert').count()).toBe(1)
  expect(await page.locator('.live-state .bad').count()).toBe(1)
})

test('the live view does not announce a connection that it does not attempt', async () => {
  const textAfter = async (status: number) => {
    bed.answer('/stream', () => problem(status))
    const page = await bed.open('/live')
    await page.getByRole('alert').waitFor()
    return page.locator('.live-state .bad').innerText()
  }
  const again = await textAfter(500)
  for (const status of [400, 403, 404]) expect(await textAfter(status)).not.toBe(again)
})

test('a gap is counted also where more records came after it than one frame lists', async () => {
  const flood = Array.from({ length: 1_500 }, (_, i) => recordText(`web-${i}`)).join('')
  bed.answer('/stream', (_, response) => {
    if (streams().length > 1) return stream(response, ': on\n\n')
    stream(response, `event: gap\ndata: {"why":"slow","skipped":1234}\n\n${flood}`)
    response.end()
  })
  const page = await bed.open('/live', (it) => it.addInitScript(HELD_FRAMES))
  // By then all of the first stream has come.
  await waitFor(() => streams().length > 1, { what: 'a second request' })
  await page.evaluate('frames()')
  await shows(page, '1,234 not sent by the server')
  expect(await page.locator('.live-state').innerText()).toContain('1,500 received')
})

test('another filter ends a pause: lines of the filter before are not listed under it', async () => {
  bed.answer('/stream', (request, response) =>
    stream(response, recordText(request.url?.includes('outcome=dead') ? 'other-1' : 'web-1')),
  )
  const page = await bed.open('/live')
  await shows(page, 'web-1')
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByLabel('outcome').selectOption('dead')
  await shows(page, 'other-1')
  expect(await page.locator('main').innerText()).not.toContain('web-1')
})
