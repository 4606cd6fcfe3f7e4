import { Redis } from 'ioredis'
import { expect, test, vi } from 'vitest'
import { waitFor } from '../../wait-for.ts'
import { type ApiBed, SINKS, startApiBed } from './bed.ts'

/** What is known of an event whose object was last in the journal too long ago to be found in time. */

/** Each read of the journal takes longer than a search may. */
function slowJournal({ keys }: ApiBed): Disposable {
  const [now, read] = [performance.now.bind(performance), Redis.prototype.xrevrangeBuffer]
  let aheadMs = 0
  const stack = new DisposableStack()
  stack.use(vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs))
  stack.use(
    vi.spyOn(Redis.prototype, 'xrevrangeBuffer').mockImplementation(function (this: Redis, ...args: any[]) {
      if (args[0] === keys.journal) aheadMs += 60_000
      return Reflect.apply(read, this, args)
    }),
  )
  return stack
}

/** Returns the newest dead letter of an object. */
function letterOf(bed: ApiBed, name: string, type: string): Promise<any> {
  const find = async () => {
    const { items } = (await bed.ask('/api/v1/dead-letters')).body
    return items?.find(({ event }: any) => event.name === name && event.type === type)
  }
  return waitFor(find, { what: `a dead letter of ${name}` })
}

/** Adds entries of another object to the journal. */
async function addNoise(bed: ApiBed): Promise<void> {
  bed.change('ADDED', 'shop', 'bad-noise')
  await letterOf(bed, 'bad-noise', 'ADDED')
  const redis = new Redis(bed.redis.url)
  const [newest] = await redis.xrevrangeBuffer(bed.keys.journal, '+', '-', 'COUNT', 1)
  for (let i = 0; i < 20; i++) await redis.xadd(bed.keys.journal, '*', ...(newest?.[1] ?? []))
  redis.disconnect()
}

async function storyWith(rules: string, sinks = SINKS): Promise<any> {
  await using bed = await startApiBed({ rules, sinks })
  bed.change('ADDED', 'shop', 'bad-web')
  await letterOf(bed, 'bad-web', 'ADDED')
  await addNoise(bed)
  bed.change('MODIFIED', 'shop', 'bad-web')
  const { event } = await letterOf(bed, 'bad-web', 'MODIFIED')
  using _ = slowJournal(bed)
  return await bed.get(`/api/v1/events/${encodeURIComponent(event.id)}`)
}

test('rules that compare are not explained without the earlier state, and the changes are those of the delivery', async () => {
  const { changes, rules, rulesMissing } = await storyWith(
    '[{ name: all, to: good }, { name: steps, changed: data.step, to: slow }]',
  )
  expect(changes).toMatchObject([{ path: 'data.step' }])
  expect([rules, rulesMissing]).toEqual([undefined, expect.any(String)])
})

test.each([false, true])(
  'rules that do not compare are explained; a sink shows changes: %j',
  async (showsChanges) => {
    const { rules } = await storyWith(
      '[{ name: all, to: good }]',
      `{ good: { type: scripted, showsChanges: ${showsChanges} } }`,
    )
    expect(rules).toMatchObject([{ rule: 'all', verdict: 'matches' }])
  },
)
