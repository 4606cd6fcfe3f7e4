import { expect, test } from 'vitest'
import { presetType } from '../../../sinks/webhook/index.ts'
import type { Message } from '../../../src/sink/index.ts'
import { startReceiver } from '../../servers/receiver.ts'
import { openSink } from '../bed.ts'
import { threeMessages } from './messages.ts'
import { bodyOf, MADE_MS } from './preset-body.ts'
import { createAlertmanager } from './services/pagers.ts'
import { addressOf } from './services/service.ts'

const never = new AbortController().signal
const DELIVERED = { kind: 'delivered' }

async function alertOf(message: Message, options: object = {}): Promise<any> {
  const [alert] = JSON.parse(await bodyOf('alertmanager', message, options))
  return alert
}

/** The message with a time that is so long ago. */
function ago(message: Message, ms: number): Message {
  return { ...message, event: { ...message.event, time: new Date(Date.now() - ms).toISOString() } }
}

test('what ends has the labels of what began, whatever their texts are', async () => {
  const { crash, resolved } = threeMessages({})
  const began = await alertOf(crash!, { labels: { severity: 'page' } })
  const ended = await alertOf(resolved!, { labels: { severity: 'page' } })
  expect(ended.labels).toEqual(began.labels)
  expect(began.labels).toEqual({
    alertname: 'crash-loops',
    cluster: 'prod-eu',
    namespace: 'shop',
    kind: 'Pod',
    name: 'web-5d9c-x2x',
    severity: 'page',
  })
  expect(Date.parse(began.startsAt)).toBeLessThan(MADE_MS)
  expect(Date.parse(began.endsAt) - MADE_MS).toBe(86_400_000)
  expect(ended.endsAt).toBe(resolved!.event.time)
  expect(ended).not.toHaveProperty('startsAt')
  const short = await alertOf(crash!, { resolveAfter: '1m' })
  expect(Date.parse(short.endsAt) - MADE_MS).toBe(60_000)
})

test.each([
  ['long ago', 600_000],
  ['just now', 0],
])('what began %s is over for an Alertmanager whose clock is behind, too', async (_, beganAgoMs) => {
  await using hook = await startReceiver()
  const { service, firing } = createAlertmanager({ behindMs: 30_000 })
  hook.answer(service.answer)
  const options = { url: addressOf(hook.url, service), ...service.options }
  await using sink = await openSink(await presetType('alertmanager'), options)
  const { crash, resolved } = threeMessages({})
  expect(await sink.deliver([ago(crash!, beganAgoMs)], never)).toEqual([DELIVERED])
  expect(firing()).toBe(1)
  expect(await sink.deliver([ago(resolved!, 0)], never)).toEqual([DELIVERED])
  expect(firing()).toBe(0)
})
