import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { startRedis } from '../../servers/redis.ts'
import { waitFor } from '../../wait-for.ts'
import { configOf, one, seriesOf, start } from './bed.ts'

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

const ofRemoved = (line: string) => line.includes('sink="y"')
const lines = async () => (await seriesOf(app)).filter((line) => line.startsWith('kubeherald_'))

function heapKb(): number {
  collect()
  return Math.round(process.memoryUsage().heapUsed / 1_000)
}

await reload(200)
// The series of a removed sink go once nothing has waited for it for half a minute.
const before = { heapKb: heapKb(), series: (await lines()).filter((line) => !ofRemoved(line)).length }
await reload(300)
const isLetGo = async () => one.open() === 1 && !(await lines()).some(ofRemoved)
await waitFor(isLetGo, { everyMs: 500, what: 'old sinks to be closed, and their series to be gone' })
const after = { heapKb: heapKb(), series: (await lines()).length }
process.stdout.write(JSON.stringify({ before, after }))
