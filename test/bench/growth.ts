import { silentLog } from '../../src/observe/log.ts'
import { createRender } from '../../src/render/message.ts'
import type { SinkType } from '../../src/sink/index.ts'
import { memoryStore } from '../../src/sink/testkit/index.ts'
import { builtInSinks } from '../../src/sink-types.ts'
import { contentOfSummary } from '../render/content-of-summary.ts'
import { benchDelivery } from './pod.ts'

// Delivers many messages through one sink and tells how the heap, after a collection, grew between a tenth of them and all.
// Run with --expose-gc. Arguments: the sink's type, its options as JSON, how many.
const [typeName = '', optionsText = '{}', countText = '100000'] = process.argv.slice(2)
const count = Number(countText)
const BATCH = 100

const type = (await builtInSinks[typeName as keyof typeof builtInSinks]()) as SinkType
const checked = (await type.config['~standard'].validate(JSON.parse(optionsText))) as {
  value: unknown
  issues?: unknown
}
if (checked.issues) throw new Error(JSON.stringify(checked.issues))
const route = type.route ? ((await type.route['~standard'].validate({})) as { value: unknown }).value : {}
const render = createRender({
  routeOf: () => route,
  contentOf: ({ summary }) => contentOfSummary(summary, type.escape),
})
const sink = await type.open(checked.value, {
  name: 'bench',
  cluster: 'bench',
  log: silentLog,
  metrics: { counter: () => () => {}, gauge: () => () => {} },
  store: memoryStore(),
  userAgent: 'kubeherald/bench',
  clock: Date,
})
const { signal } = new AbortController()

async function deliver(from: number): Promise<void> {
  let batch = Array.from({ length: BATCH }, (_, i) => render(benchDelivery(from + i), 0))
  while (batch.length > 0) {
    const outcomes = await sink.deliver(batch, signal)
    const bad = outcomes.find(({ kind }) => kind === 'rejected' || kind === 'retry')
    if (bad) throw new Error(JSON.stringify(bad))
    const later = outcomes.flatMap((it) => (it.kind === 'later' ? [it.afterMs] : []))
    if (later.length > 0) await new Promise((resolve) => setTimeout(resolve, Math.max(...later)))
    batch = batch.filter((_, i) => outcomes[i]?.kind === 'later')
  }
}

function heapBytes(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

let first = 0
for (let sent = 0; sent < count; sent += BATCH) {
  await deliver(sent)
  if (sent + BATCH === count / 10) first = heapBytes()
}
console.log(JSON.stringify({ first, last: heapBytes() }))
process.exit(0)
