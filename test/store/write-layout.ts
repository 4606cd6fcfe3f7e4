import { writeFileSync } from 'node:fs'
import { silentLog } from '../../src/observe/log.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { LAYOUT } from '../../src/store/redis/layout.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { writeLayout } from './layout-log.ts'
import { startLine } from './line-bed.ts'

// Writes fixtures/layout/<n>.jsonl: what a process of this version left behind that was killed. Once per layout, by hand:
// node test/store/write-layout.ts

await using server = await startRedis()
let down = false
await using line = await startLine({
  redis: `{ url: "${server.url}" }`,
  answer: ({ body }) => ({ status: down ? 503 : body.includes('poison') ? 400 : 200 }),
})
line.frame('ADDED', 'a', 11)
line.frame('ADDED', 'poison', 12)
line.frame('MODIFIED', 'a', 13)
line.frame('ADDED', 'gone', 14)
line.frame('DELETED', 'gone', 15)
const redis = openRedis(server.url, 'work', silentLog)
await waitFor(() => line.told().length === 4 && line.chatted().length === 4, { what: 'what comes through' })
await waitFor(async () => (await line.kubeherald.status()).deadLetters === 2, { what: 'dead letters' })
down = true
line.frame('MODIFIED', 'a', 16)
line.frame('ADDED', 'b', 17)
await waitFor(() => line.hook.requests.filter(({ status }) => status === 503).length > 2, {
  what: 'the outage',
})
await line.kubeherald.kill()
const file = new URL(`../fixtures/layout/${LAYOUT}.jsonl`, import.meta.url)
writeFileSync(file, await writeLayout(redis))
redis.disconnect()
