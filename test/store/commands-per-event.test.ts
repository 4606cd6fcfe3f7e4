import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { changeSteadily, named, type Stage, sayMissing, startStage } from './stage-bed.ts'

/**
 * Commands that Redis executes for one Event from its commit to its acknowledgement, those within scripts included: 14 if it
 * has a commit of its own. On a busy machine Events share commits, and there are fewer. Also the bound of the bench row.
 */
const MOST_COMMANDS = 15

const OBJECTS = named('object', 50)
const PER_SECOND = 100
const SECONDS = 5

test(`an Event costs no more than ${MOST_COMMANDS} commands in Redis at ${PER_SECOND}/s`, async () => {
  await using it = await startStage()
  await deliver(it, 1)
  const before = await commands(it)
  await deliver(it, SECONDS)
  const after = await commands(it)
  const perEvent = [...after]
    .map(([name, calls]) => [name, (calls - (before.get(name) ?? 0)) / (PER_SECOND * SECONDS)] as const)
    .filter(([, calls]) => calls >= 0.05)
    .sort(([, a], [, b]) => b - a)
  const total = perEvent.reduce((sum, [, calls]) => sum + calls, 0)
  const table = perEvent.map(([name, calls]) => `${name} ${calls.toFixed(1)}`).join(', ')
  expect(total, table).toBeLessThanOrEqual(MOST_COMMANDS)
})

async function deliver(it: Stage, seconds: number): Promise<void> {
  await changeSteadily(it.feed, OBJECTS, { perSecond: PER_SECOND, seconds })
  await waitFor(() => it.missing().length === 0, {
    what: () => `all to arrive; ${sayMissing(it.missing(), it.feed.history.length)}`,
  })
}

/** Command → how often Redis executed it, without those that read this. */
async function commands({ redis }: Stage): Promise<Map<string, number>> {
  const info = String(await redis.command('INFO', 'commandstats'))
  const lines = info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)
  return new Map([...lines].map(([, name = '', calls]) => [name, Number(calls)]))
}
