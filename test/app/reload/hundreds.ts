import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { startRedis } from '../../servers/redis.ts'
import { waitFor } from '../../wait-for.ts'
import { configOf, one, seriesOf, start } from './bed.ts'

/** Warms up, reloads hundreds of times in a process of its own, and says how large it is before them, and behind. */
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
await using redis = await startRedis()
const both = '[{ name: b, when: { kind: Pod, name: "a-*" }, to: [x, y] }]'
const configs = [
  await configOf('{ x: { type: one } }', '[{ name: a, to: [x] }]'),
  await configOf('{ x: { type: one, mark: m }, y: { type: two } }', both),
] as const
await using app = await start(redis, configs[0])

/** Where a machine is busy, what old configurations hold is let go of later: it collects until so much is left, for half a minute. */
async function heapOf(mostKb: number): Promise<number> {
  for (let i = 0; ; i++) {
    collect()
    const heapKb = Math.round(process.memoryUsage().heapUsed / 1_000)
    if (heapKb <= mostKb || i === 60) return heapKb
    await pause(500)
  }
}

async function reload(times: number, mostKb = Number.POSITIVE_INFINITY) {
  for (let i = 1; i <= times; i++) {
    await app.apply(configs[i % 2 === 0 ? 0 : 1])
    // What it asks of Redis is answered.
    await redis.command('PING')
  }
  const lines = async () => (await seriesOf(app)).filter((line) => line.startsWith('kubeherald_'))
  // The series of a removed sink go once nothing waits for it.
  const isLetGo = async () => one.open() === 1 && !(await lines()).some((line) => line.includes('sink="y"'))
  await waitFor(isLetGo, { everyMs: 500, what: 'old sinks to be closed, and their series to be gone' })
  const series = (await lines()).length
  return { heapKb: await heapOf(mostKb), series }
}

const before = await reload(200)
process.stdout.write(JSON.stringify({ before, after: await reload(300, before.heapKb) }))
