import { Agent, request } from 'undici'
import { benchPod } from './pod.ts'

/** The yardstick of the webhook: posts the same bodies with the same client, as many at once, and does nothing else. */
const [url = '', countText = '0', concurrencyText = '64'] = process.argv.slice(2)
const count = Number(countText)
const dispatcher = new Agent({ connections: Number(concurrencyText), pipelining: 1, allowH2: false })
const bodies = Array.from({ length: 500 }, (_, i) => {
  const { metadata, ...rest } = benchPod(i) as { metadata: Record<string, unknown> }
  const { managedFields: _managed, ...kept } = metadata
  return Buffer.from(
    JSON.stringify({
      specversion: '1.0',
      id: String(i),
      data: { type: 'MODIFIED', object: { ...rest, metadata: kept } },
    }),
  )
})
const startedMs = performance.now()
let next = 0
async function work(): Promise<void> {
  for (let i = next++; i < count; i = next++) {
    const { body } = await request(url, {
      dispatcher,
      method: 'POST',
      headers: { 'content-type': 'application/cloudevents+json' },
      body: bodies[i % bodies.length] as Buffer,
    })
    await body.dump()
  }
}
await Promise.all(Array.from({ length: Number(concurrencyText) }, work))
console.log(JSON.stringify({ seconds: (performance.now() - startedMs) / 1_000 }))
process.exit(0)
