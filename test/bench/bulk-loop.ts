import webhook from '../../sinks/webhook/index.ts'
import { createRender } from '../../src/render/message.ts'
import { laneByKey, orderOf } from '../../src/sink/index.ts'
import { contentOfSummary } from '../render/content-of-summary.ts'
import { contextOf, optionsOf } from '../sinks/bed.ts'
import { benchEventDelivery } from './event.ts'
import { benchDelivery } from './pod.ts'

// The webhook sink alone, given batches as the lanes do: `single` sends an event in a request, `bulk` many. Both write the same for an
// event: `cloudevents`; `events`, the usual fields of a Kubernetes Event; or `objects`, a title and a whole pod. Arguments: the form,
// `single` or `bulk`, the receiver's URL, how many events. Prints the seconds that it took, and those of processor time.
const [form = '', mode = '', url = '', countText = '0'] = process.argv.slice(2)
const count = Number(countText)
/** What a lane hands over in a call. */
const BATCH = 128
const EACH: Record<string, object> = {
  events: {
    time: '{{ time }}',
    cluster: '{{ cluster }}',
    type: '{{ event.eventType }}',
    reason: '{{ event.reason }}',
    object: '{{ event.regarding.kind }} {{ namespace }}/{{ event.regarding.name }}',
    count: '{{ event.count | as_is }}',
    message: '{{ event.message }}',
  },
  // The example of sinks/webhook/README.md.
  objects: {
    time: '{{ time }}',
    cluster: '{{ cluster }}',
    text: '{{ message.title }}',
    object: '{{ object | as_is }}',
  },
}
const each = EACH[form]
const single = each ? { body: each } : {}
const bulk = each ? { batch: { each } } : { format: 'batch' }
const deliveryOf = form === 'events' ? benchEventDelivery : benchDelivery

const render = createRender({ routeOf: () => ({}), contentOf: ({ summary }) => contentOfSummary(summary) })
const deliveries = Array.from({ length: 500 }, (_, i) => deliveryOf(i))
const lanes = [...Map.groupBy(deliveries, (it) => laneByKey(orderOf(it))).values()]
const options = mode === 'single' ? single : bulk
const sink = await webhook.open(await optionsOf(webhook, { url, ...options }), contextOf())
const { signal } = new AbortController()
let left = 0

async function serve(lane: readonly (typeof deliveries)[number][]): Promise<void> {
  for (let at = 0; left > 0; at += BATCH) {
    const size = Math.min(BATCH, left)
    left -= size
    const batch = Array.from({ length: size }, (_, i) => render(lane[(at + i) % lane.length]!, 0))
    for (const { kind } of await sink.deliver(batch, signal)) if (kind !== 'delivered') throw new Error(kind)
  }
}

async function send(events: number): Promise<void> {
  left = events
  await Promise.all(lanes.map(serve))
}

// Until the code is compiled and connections are open.
await send(count / 4)
const startedMs = performance.now()
const before = process.cpuUsage()
await send(count)
const { user, system } = process.cpuUsage(before)
console.log(JSON.stringify({ seconds: (performance.now() - startedMs) / 1_000, cpu: (user + system) / 1e6 }))
process.exit(0)
