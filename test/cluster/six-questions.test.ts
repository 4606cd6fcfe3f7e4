import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deployment, warning } from '../page/bed.ts'
import { startBrowser } from '../servers/chromium.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { freePort } from '../servers/ports.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { type Kubeherald, startKubeherald } from './kubeherald.ts'

// Six questions of an operator on a real cluster: each has its answer in the browser in at most three steps, and in the terminal.

const configOf = ({ redis, oncall, pager, bus }: Record<string, string | number>) => `
cluster: test
redis: { url: "${redis}" }
journal: { keep: 1h }
watch: [{ kind: Event, namespaces: shop }, { kind: Deployment, namespaces: shop }]
sinks:
  oncall: { type: mattermost, url: "${oncall}" }
  pager: { type: webhook, url: "${pager}" }
  bus: { type: webhook, url: "http://127.0.0.1:${bus}/" }
rules:
  - { name: crash-loops, when: { reason: BackOff }, throttle: { per: regarding, every: 30m }, to: [oncall, pager] }
  - { name: rollouts, when: { kind: Deployment }, changed: spec.template.spec.containers.*.image, to: [oncall, bus] }
  - { name: probes, when: { reason: Unhealthy }, to: pager }
`

interface Asked extends AsyncDisposable {
  kubeherald: Kubeherald
  page: Page
  oncall: Receiver
  pager: Receiver
  /** The id of the Event that did not reach oncall. */
  unhealthy: string
}

/** A rollout, an Event that repeats and one that no rule sends to oncall; pager refuses all, bus is not there. */
async function startAsked(): Promise<Asked> {
  await using stack = new AsyncDisposableStack()
  const kubernetes = stack.use(await borrowKubernetes())
  const redis = stack.use(await startRedis())
  const oncall = stack.use(await startReceiver())
  const pager = stack.use(await startReceiver())
  pager.answer(() => ({ status: 400, body: 'unknown routing key' }))
  await kubernetes.request('POST', '/api/v1/namespaces', { metadata: { name: 'shop' } })
  const deployments = '/apis/apps/v1/namespaces/shop/deployments'
  const events = '/api/v1/namespaces/shop/events'
  await kubernetes.request('POST', deployments, deployment('shop/web:1.41'))
  const bus = await freePort()
  const config = configOf({ redis: redis.url, oncall: oncall.url, pager: pager.url, bus })
  const kubeherald = stack.use(await startKubeherald({ kubeconfig: kubernetes.kubeconfig, config }))
  const api = async (path: string): Promise<any> => (await fetch(`${kubeherald.url}/api/v1${path}`)).json()
  const recorded = (what: string, isWanted: (record: any) => boolean) =>
    waitFor(async () => (await api('/history')).items.find(isWanted), { what })

  await kubernetes.request('PUT', `${deployments}/web`, deployment('shop/web:1.42'))
  const backOff = (count: number) => warning('BackOff', 'Back-off restarting failed container web', count)
  await kubernetes.request('POST', events, backOff(1))
  await recorded('BackOff at oncall', (it) => it.rule === 'crash-loops' && it.outcome === 'delivered')
  await kubernetes.request('PUT', `${events}/web-1.backoff`, backOff(2))
  await recorded('its repeat', (it) => it.outcome === 'suppressed')
  await kubernetes.request('POST', events, warning('Unhealthy', 'Readiness probe failed: 503'))
  const { event } = await recorded('a dead letter', (it) => it.rule === 'probes' && it.outcome === 'dead')
  const sinks = async () => (await api('/sinks')).items as { name: string; lastError?: string }[]
  const isFailing = async () => (await sinks()).some((it) => it.name === 'bus' && it.lastError !== undefined)
  await waitFor(isFailing, { what: 'the failure of bus' })

  const browser = await startBrowser()
  stack.defer(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1_280, height: 800 }, timezoneId: 'UTC' })
  const moved = stack.move()
  return {
    ...{ kubeherald, page, oncall, pager, unhealthy: event.id },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  }
}

let it: Asked
beforeAll(async () => {
  it = await startAsked()
})
afterAll(() => it?.[Symbol.asyncDispose]())

describe('acceptance 1: in the browser', () => {
  const goTo = (name: string) => it.page.getByRole('navigation').getByRole('link', { name }).click()
  const row = (table: string, text: string) =>
    it.page.getByRole('table', { name: table }).locator('tbody', { hasText: text })
  const shows = (locator: ReturnType<Page['locator']>, text: string) =>
    locator.filter({ hasText: text }).first().waitFor()
  const search = async (text: string) => {
    await it.page.getByRole('searchbox').fill(text)
    await it.page.keyboard.press('Enter')
  }

  test('what happens now', async () => {
    await it.page.goto(it.kubeherald.url)
    await shows(it.page.getByRole('region', { name: 'Troubles' }), 'bus')
    await shows(it.page.locator('.records'), 'suppressed by throttle')
  })

  test('what happened to shop/web, and who was notified with which text', async () => {
    await it.page.goto(it.kubeherald.url)
    await search('shop/web')
    const newest = it.page.locator('.story > details').first()
    await shows(newest.locator('.sink-line', { hasText: 'bus' }), 'waiting')
    const oncall = newest.locator('.sink-line', { hasText: 'oncall' })
    await shows(oncall, 'delivered')
    const text = await oncall.locator('.stored b').innerText()
    expect(it.oncall.requests.map(({ body }) => body).join()).toContain(text)
    await shows(newest.locator('.diff').last(), 'shop/web:1.42')
  })

  test('why an Event did not reach oncall', async () => {
    await it.page.goto(it.kubeherald.url)
    await search(it.unhealthy)
    await shows(it.page.locator('.sink-line', { hasText: 'oncall' }), 'reason BackOff; seen: Unhealthy')
  })

  test('which sink is behind, since when, and why', async () => {
    await it.page.goto(it.kubeherald.url)
    await goTo('Sinks')
    for (const text of ['failing', 'ago', 'nobody listens']) await shows(row('Sinks', 'bus'), text)
  })

  test('what is among the dead letters, and to send it again', async () => {
    await it.page.goto(it.kubeherald.url)
    await goTo('Dead letters')
    const before = it.pager.requests.length
    const group = row('Groups', 'pager')
    // Its times have a 2, too.
    await group.getByRole('cell', { name: '2', exact: true }).waitFor()
    await group.getByRole('button', { name: 'Retry' }).click()
    await it.page.getByRole('dialog').getByRole('button', { name: 'Send them again' }).click()
    await waitFor(() => it.pager.requests.length >= before + 2, { what: 'both at pager again' })
  })

  test('whether the ledger balances', async () => {
    await it.page.goto(it.kubeherald.url)
    await goTo('Ledger')
    await shows(it.page.locator('main'), 'The ledger balances.')
  })
})

describe('acceptance 1: in the terminal', () => {
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await it.kubeherald.command(...args)
    expect({ args, code, stderr: code === 0 ? '' : stderr }).toEqual({ args, code: 0, stderr: '' })
    return stdout
  }

  test('what happens now', async () => {
    expect(await run('top', '--count', '1')).toMatch(/^bus .*failing/m)
    expect(await run('history')).toContain('suppressed by throttle')
  })

  test('what happened to shop/web, and who was notified with which text', async () => {
    const history = await run('history', 'deploy/shop/web')
    expect(history).toMatch(/Deployment shop\/web .*oncall .*delivered/)
    const why = await run('why', 'deploy/shop/web')
    const text = /oncall.*"(.+)"/.exec(why)?.[1] ?? 'no text'
    expect(it.oncall.requests.map(({ body }) => body).join()).toContain(text)
    expect(why).toMatch(/bus .*waits/)
  })

  test('why an Event did not reach oncall', async () => {
    const why = await run('why', it.unhealthy, '--sink', 'oncall')
    expect(why).toMatch(/BackOff/)
    expect(why).toMatch(/Unhealthy/)
    expect(await run('history', 'pod/shop/web-1')).toMatch(/BackOff .*oncall.* suppressed by throttle until/)
  })

  test('which sink is behind, since when, and why', async () => {
    expect(await run('status')).toMatch(/^bus +failing +1 +0 +0 +1 +\d+.* ago .*nobody listens/m)
  })

  test('what is among the dead letters, and to send it again', async () => {
    const letters = () => run('dead-letters', 'list', '--group')
    await waitFor(async () => /^pager +rejected +2 /m.test(await letters()), { what: 'both again' })
    it.pager.answer(() => ({ status: 200 }))
    const before = it.pager.requests.length
    await run('dead-letters', 'retry', '--sink', 'pager')
    await waitFor(() => it.pager.requests.length >= before + 2, { what: 'both at pager' })
    await waitFor(async () => !(await letters()).includes('pager'), { what: 'none left' })
  })

  test('whether the ledger balances', async () => {
    expect(await run('status', '--verify')).toContain('ledger: balanced')
  })
})
