import { createHmac } from 'node:crypto'
import { Agent, request } from 'undici'
import webhook from '../../sinks/webhook/index.ts'
import { createRender } from '../../src/render/message.ts'
import { laneByKey, orderOf } from '../../src/sink/index.ts'
import { contentOfSummary } from '../render/content-of-summary.ts'
import { contextOf, optionsOf } from '../sinks/bed.ts'
import { benchDelivery } from './pod.ts'

// What a sink adds to bare requests: posts signed CloudEvents, `sink` as the lanes do with batches through deliver(), `bare` with
// the client alone, which signs the same bodies and does nothing else. Arguments: which, the webhook's URL, how many, how many at
// once. Prints the seconds that it took.
const [mode = '', url = '', countText = '0', concurrencyText = '64'] = process.argv.slice(2)
const count = Number(countText)
const connections = Number(concurrencyText)
const key = Buffer.from('a-secret-of-thirty-two-bytes-or-so')
const secret = `whsec_${key.toString('base64')}`
const BATCH = 128
const render = createRender({ routeOf: () => ({}), contentOf: ({ summary }) => contentOfSummary(summary) })
const deliveries = Array.from({ length: 500 }, (_, i) => benchDelivery(i))

const work = mode === 'sink' ? await throughSink() : bare()
const startedMs = performance.now()
await work()
console.log(JSON.stringify({ seconds: (performance.now() - startedMs) / 1_000 }))
process.exit(0)

async function throughSink(): Promise<() => Promise<void>> {
  const sink = await webhook.open(
    await optionsOf(webhook, { url, secret, concurrency: connections }),
    contextOf(),
  )
  const lanes = [...Map.groupBy(deliveries, (it) => laneByKey(orderOf(it))).values()]
  const { signal } = new AbortController()
  let left = count
  async function serve(lane: readonly (typeof deliveries)[number][]): Promise<void> {
    for (let at = 0; left > 0; at += BATCH) {
      const size = Math.min(BATCH, left)
      left -= size
      const batch = Array.from({ length: size }, (_, i) => render(lane[(at + i) % lane.length]!, 0))
      for (const { kind } of await sink.deliver(batch, signal))
        if (kind !== 'delivered') throw new Error(kind)
    }
  }
  return async () => void (await Promise.all(lanes.map(serve)))
}

function bare(): () => Promise<void> {
  const dispatcher = new Agent({ connections, pipelining: 1, allowH2: false })
  const messages = deliveries.map((it) => ({ id: it.event.id, body: render(it, 0).cloudEvent }))
  let next = 0
  async function post(): Promise<void> {
    for (let i = next++; i < count; i = next++) {
      const { id, body } = messages[i % messages.length]!
      const timestamp = String(Math.floor(Date.now() / 1_000))
      const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
      const headers = {
        'content-type': 'application/cloudevents+json; charset=utf-8',
        'user-agent': 'bench',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`,
      }
      const answer = await request(url, { dispatcher, method: 'POST', headers, body })
      await answer.body.dump()
    }
  }
  return async () => void (await Promise.all(Array.from({ length: connections }, post)))
}
