import { writeFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { waitFor } from '../wait-for.ts'
import { writeLayout } from './layout-log.ts'
import { startStage } from './stage-bed.ts'
import { STORED } from './stored-queue.ts'

// Writes fixtures/stored-queue/<name>.jsonl: what a process of this version left behind that was killed during an outage of its
// sink. By hand, with the name of the way in which it chooses lanes: node test/queue/write-stored-queue.ts lanes-by-uid

const LEDGER = '{kubeherald:test}:ledger:sink:hook'
const [name = ''] = process.argv.slice(2)
if (!/^[\w-]+$/.test(name)) throw new Error('usage: node test/queue/write-stored-queue.ts NAME')
await using it = await startStage()
it.hook.answer(() => ({ status: 503 }))
const enqueued = async () => Number(await it.redis.command('HGET', LEDGER, 'enqueued'))
for (const { type, names } of STORED) {
  for (const name of names) it.feed.change(type, name)
  const count = it.feed.history.length
  await waitFor(async () => (await enqueued()) === count, { what: `${count} changes to be enqueued` })
}
await it.kubeherald.kill()
const redis = new Redis(it.redis.url)
writeFileSync(new URL(`../fixtures/stored-queue/${name}.jsonl`, import.meta.url), await writeLayout(redis))
redis.disconnect()
