import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import { startReceiver } from '../../servers/receiver.ts'
import { startRedis } from '../../servers/redis.ts'
import { startSlack } from '../../servers/slack.ts'
import { waitFor } from '../../wait-for.ts'
import { configOf, enqueue, one, seriesOf, start, two } from './bed.ts'

const A = '[{ name: a, to: [x] }]'

test('a sink that cannot be opened keeps all as it was', async () => {
  await using redis = await startRedis()
  await using app = await start(redis, await configOf('{ x: { type: one } }', A))
  const bad = await configOf('{ x: { type: one, mark: b }, y: { type: two, refuse: true } }', A)
  await expect(app.apply(bad)).rejects.toThrow('the sink "y" cannot be opened: no room')
  expect(one.open()).toBe(1)
  expect(app.lanes.statuses().map(({ sink }) => sink)).toEqual(['x'])
})

test('a reload that fails after it opened sinks closes them', async () => {
  await using redis = await startRedis()
  await using app = await start(redis, await configOf('{ x: { type: one } }', A))
  const next = await configOf(
    '{ x: { type: one, mark: b }, y: { type: two } }',
    A.replace('name: a', 'name: b'),
  )
  const fault = vi.spyOn(app.metrics.ruleErrors, 'inc').mockImplementationOnce(() => {
    throw new Error('a fault of ours')
  })
  await expect(app.apply(next)).rejects.toThrow('a fault of ours')
  expect([one.open(), two.open()]).toEqual([1, 0])
  fault.mockRestore()
  await app.apply(next)
  await waitFor(() => one.open() === 1 && two.open() === 1, { what: 'the replaced sink to be closed' })
})

test('what waits for a removed sink is sent as its old configuration says: channel, preset, message of the rule', async () => {
  await using redis = await startRedis()
  await using slack = await startSlack()
  await using hook = await startReceiver()
  slack.channel('shop')
  slack.channel('oncall')
  slack.fault({ status: 503, times: 1_000 })
  hook.answer(() => ({ status: 503 }))
  const chat = `{ type: slack, token: ${slack.token}, apiUrl: "${slack.apiUrl}", channel: "#shop" }`
  const sinks = `{ x: { type: one }, chat: ${chat}, preset: { type: webhook, url: "${hook.url}", preset: discord } }`
  const rules = '[{ name: a, message: "of the old rule", to: [{ chat: { channel: "#oncall" } }, preset] }]'
  await using app = await start(redis, await configOf(sinks, rules))
  for (const sink of ['chat', 'preset']) await enqueue(redis, sink, 'a')
  app.lanes.wake(['chat/0', 'preset/0'])
  await waitFor(() => slack.calls.length > 0 && hook.requests.length > 0, { what: 'both to be asked' })
  await app.apply(
    await configOf('{ x: { type: one } }', '[{ name: a, message: "of the new rule", to: [x] }]'),
  )
  slack.mend()
  hook.answer(() => ({ status: 204 }))
  await waitFor(() => slack.messages.length > 0 && hook.requests.at(-1)?.status === 204, {
    timeoutMs: 25_000,
    what: () => `what waited; ${JSON.stringify([app.lanes.statuses(), slack.calls.at(-1)])}`,
  })
  const [posted] = slack.messages
  expect(posted?.channel).toBe('oncall')
  expect(JSON.stringify(posted)).toContain('of the old rule')
  expect(JSON.parse(hook.requests.at(-1)?.body ?? '{}').embeds).toHaveLength(1)
  expect(hook.requests.at(-1)?.body).toContain('of the old rule')
})

test('a sink whose settings were mended is tried right after the reload, however long its pause was', async () => {
  await using redis = await startRedis()
  await using hook = await startReceiver()
  hook.answer(({ path }) =>
    path.endsWith('/good') ? { status: 200 } : { status: 503, headers: { 'retry-after': '3600' } },
  )
  const sinkAt = (path: string) =>
    configOf(`{ hook: { type: webhook, url: "${hook.url}${path}" } }`, '[{ name: a, to: [hook] }]')
  await using app = await start(redis, await sinkAt('/bad'))
  await enqueue(redis, 'hook', 'a')
  app.lanes.wake(['hook/0'])
  await waitFor(() => app.lanes.statuses()[0]?.healthy === false, { what: 'the sink to fail' })
  await app.apply(await sinkAt('/good'))
  await waitFor(() => hook.requests.at(-1)?.path.endsWith('/good'), { what: 'the delivery' })
})

test('another type under the same name begins with metrics of its own, and takes the old one with it', async () => {
  await using redis = await startRedis()
  await using app = await start(redis, await configOf('{ x: { type: one } }', A))
  expect(await seriesOf(app)).toContain('kubeherald_one_made_total{sink="x"} 1')
  await app.apply(await configOf('{ x: { type: two } }', A.replace('name: a', 'name: b')))
  const series = await seriesOf(app)
  expect(series).toContain('kubeherald_two_made_total{sink="x"} 1')
  expect(series.join('\n')).not.toMatch(/kubeherald_one_made_total\{|rule="a"/)
  expect(series).toContain('kubeherald_rule_errors_total{rule="b"} 0')
  await waitFor(() => one.open() === 0 && two.open() === 1, { what: 'the old sink to be closed' })
})

test('a sink that has no buttons any more has no series of their connection, and keeps its other ones', async () => {
  await using redis = await startRedis()
  await using slack = await startSlack()
  const chat = `type: slack, token: ${slack.token}, apiUrl: "${slack.apiUrl}", channel: "#shop"`
  const actions = `actions: { appToken: ${slack.clicks.appToken}, anyone: true }`
  const rules = '[{ name: a, to: [chat] }]'
  await using app = await start(redis, await configOf(`{ chat: { ${chat}, ${actions} } }`, rules))
  const isThere = async (series: string) =>
    (await seriesOf(app)).includes(`kubeherald_slack_${series}{sink="chat"} 1`)
  await waitFor(() => isThere('buttons_connected'), { what: 'the connection for buttons' })
  await app.apply(await configOf(`{ chat: { ${chat}, ${actions}, timeout: 9s } }`, rules))
  await waitFor(() => isThere('buttons_connected'), {
    what: 'the connection of the sink that was opened again',
  })
  await app.apply(await configOf(`{ chat: { ${chat} } }`, rules))
  await waitFor(async () => !(await seriesOf(app)).join('\n').includes('buttons_connected{'), {
    what: 'the end of the series',
  })
  expect((await seriesOf(app)).join('\n')).toContain('kubeherald_slack_digests_total{sink="chat"} 0')
})

test('a limit that comes with a reload begins at zero, and what its rule has counted stays', async () => {
  await using redis = await startRedis()
  await using app = await start(redis, await configOf('{ x: { type: one } }', A))
  app.metrics.ruleErrors.inc({ rule: 'a' }, 3)
  app.metrics.ruleWaiting.set({ rule: 'a' }, 2)
  await app.apply(await configOf('{ x: { type: one } }', '[{ name: a, to: [x], throttle: { every: 1m } }]'))
  expect(await seriesOf(app)).toEqual(
    expect.arrayContaining([
      'kubeherald_rule_suppressed_total{rule="a",limit="throttle"} 0',
      'kubeherald_rule_errors_total{rule="a"} 3',
      'kubeherald_rule_waiting{rule="a"} 2',
    ]),
  )
})

test('a share of Redis bounds queues and dead letters, also after a reload', async () => {
  await using redis = await startRedis({ args: ['--maxmemory', '100000000'] })
  const share = (part: number) =>
    configOf('{ x: { type: one } }', A, `redis: { url: "${redis.url}", share: ${part} }\n`)
  await using app = await start(redis, await share(0.5))
  const isBounded = async (queue: number, dead: number) => {
    const series = await seriesOf(app)
    return [
      `kubeherald_queue_max_bytes{sink="x"} ${queue}`,
      `kubeherald_dead_letters_max_bytes ${dead}`,
    ].every((line) => series.includes(line))
  }
  await waitFor(() => isBounded(20_000_000, 5_000_000), { what: 'the bounds of half of Redis' })
  await app.apply(await share(0.25))
  await waitFor(() => isBounded(10_000_000, 2_500_000), { what: 'the bounds of a quarter' })
  // As at the start, no bound of a sink is refused that Redis has room for.
  const own = '{ x: { type: one, queue: { maxBytes: 60MB } } }'
  await app.apply(await configOf(own, A, `redis: { url: "${redis.url}", share: 0.25 }\n`))
})

test('hundreds of reloads leave nothing behind', async () => {
  const program = new URL('hundreds.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const { before, after } = JSON.parse(await text(child.stdout))
  console.log(`heap before hundreds of reloads ${before.heapKb} kB, behind them ${after.heapKb} kB`)
  expect(after.heapKb / before.heapKb).toBeLessThan(1.05)
  expect(after.series).toBe(before.series)
})
