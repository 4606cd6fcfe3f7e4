import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { startRedis } from '../../servers/redis.ts'
import { waitFor } from '../../wait-for.ts'
import { configOf, one, seriesOf, start, two } from './bed.ts'

/** Warms up, reloads hundreds of times in a process of its own, and says how large it is before them, and behind. */
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
await using redis = await startRedis()
// So many that what a reload leaves behind outweighs the code that V8 frees meanwhile.
const others = Array.from(
  { length: 30 },
  (_, i) => `, { name: r${i}, when: { kind: Pod, name: "b${i}-*" }, to: [x] }`,
).join('')
const both = `[{ name: b, when: { kind: Pod, name: "a-*" }, to: [x, y] }${others}]`
const configs = [
  await configOf('{ x: { type: one } }', `[{ name: a, to: [x] }${others}]`),
  await configOf('{ x: { type: one, mark: m }, y: { type: two } }', both),
] as const
await using app = await start(redis, configs[0])

async function reload(times: number) {
  for (let i = 1; i <= times; i++) {
    await app.apply(configs[i % 2 === 0 ? 0 : 1])
    // What it asks of Redis is answered.
    await redis.command('PING')
  }
}

async function size() {
  // A sink that was removed is closed once nothing has waited for it for half a minute; here both are in use.
  await waitFor(() => one.open() === 1 && two.open() === 1, { what: 'old sinks to be closed' })
  const lines = (await seriesOf(app)).filter((line) => line.startsWith('kubeherald_'))
  collect()
  return { heapKb: Math.round(process.memoryUsage().heapUsed / 1_000), series: lines.length }
}

await reload(201)
const before = await size()
await reload(301)
process.stdout.write(JSON.stringify({ before, after: await size() }))
