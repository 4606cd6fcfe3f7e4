import { request } from 'undici'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { runBundle } from './bundle.ts'
import { serve } from './processes.ts'
const perSecond = Number(process.argv[2] ?? 100), n = Number(process.argv[3] ?? 3000)
await using feed = await serve('./feed.ts', String(n), String(perSecond), '0', 'Event')
await using hook = await serve('./hook.ts')
await using redis = await startRedis()
const sink = `{ type: webhook, url: "${hook.url}" }`
if (process.env['PROF']) process.env['NODE_OPTIONS'] = '--cpu-prof --cpu-prof-dir=/tmp/prof --cpu-prof-interval 200'
const bundle = runBundle(feed.url, redis.url, sink, { watch: 'Event' })
process.env['NODE_OPTIONS'] = ''
const count = async () => ((await (await request(`${hook.url}/stats`)).body.json()) as { count: number }).count
await waitFor(async () => (await count()) >= n * 0.3, { timeoutMs: 120_000, what: 'x' })
import { readdirSync, readFileSync } from 'node:fs'
const threads = () => new Map(readdirSync(`/proc/${bundle.child.pid}/task`).map((t) => { const f = readFileSync(`/proc/${bundle.child.pid}/task/${t}/stat`, 'utf8'); const s = readFileSync(`/proc/${bundle.child.pid}/task/${t}/schedstat`, 'utf8'); const p = f.slice(f.lastIndexOf(')') + 2).split(' '); return [t + f.slice(f.indexOf('('), f.indexOf(')')+1), [Number(p[11]) , Number(p[12]), Number(s.split(' ')[0]) / 1e6]] }))
let last = bundle.usage(), lastC = await count()
if (process.env['WIN']) for (let i = 0; i < Number(process.env['WIN']); i++) { await new Promise((r) => setTimeout(r, 10_000)); const u = bundle.usage(), c = await count(); console.log('win', i, (((u.cpuSeconds - last.cpuSeconds) * 1000) / (c - lastC)).toFixed(2)); last = u; lastC = c }
const th = threads()
const a = bundle.usage(), t = performance.now(); const ca = await count()
await waitFor(async () => (await count()) >= n * 0.95, { timeoutMs: 120_000, what: 'x' })
const b = bundle.usage(); const cb = await count()
console.log('ms per event', ((b.cpuSeconds - a.cpuSeconds) * 1000) / (cb - ca), 'seconds', (performance.now() - t) / 1000)
for (const [k, v] of threads()) console.log(k, v.map((x, i) => ((x - (th.get(k)?.[i] ?? 0)) * (i < 2 ? 10 : 1) / (cb - ca)).toFixed(3)).join(' '))
bundle.child.kill('SIGTERM')
await new Promise((r) => bundle.child.once('exit', r))
