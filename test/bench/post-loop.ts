import { Agent, request } from 'undici'
import { cloudEvent } from '../../src/sink/message.ts'
import { benchDelivery } from './pod.ts'

// The yardstick of the webhook: posts the bodies that the line posts, with the same client, as many at once, and does
// nothing else. Arguments: the webhook's URL, how many, how many at once. Prints the seconds that it took.
const [url = '', countText = '0', concurrencyText = '64'] = process.argv.slice(2)
const count = Number(countText)
const connections = Number(concurrencyText)
const dispatcher = new Agent({ connections, pipelining: 1, allowH2: false })
const headers = { 'content-type': 'application/cloudevents+json; charset=utf-8', 'user-agent': 'bench' }
const bodies = Array.from({ length: 500 }, (_, i) => {
  return cloudEvent(benchDelivery(i))
})

const startedMs = performance.now()
let next = 0
async function work(): Promise<void> {
  for (let i = next++; i < count; i = next++) {
    const body = bodies[i % bodies.length] as Buffer
    const answer = await request(url, { dispatcher, method: 'POST', headers, body })
    await answer.body.dump()
  }
}
await Promise.all(Array.from({ length: connections }, work))
console.log(JSON.stringify({ seconds: (performance.now() - startedMs) / 1_000 }))
process.exit(0)
