import { expect, test } from 'vitest'
import { chooseSinks } from '../../src/app/config-snapshot.ts'
import type { Config } from '../../src/config/schema.ts'
import type { Delivery } from '../../src/model/delivery.ts'
import type { SinkType } from '../../src/sink/index.ts'
import { headerFor } from '../store/objects.ts'

test('what is told of one group lies in one lane, whatever objects it is of; what is of one object in that of the object', async () => {
  const sinks = [{ name: 'hook', type: 'plain', options: {} }]
  const config = { sinks, rules: [], routes: [] } as unknown as Config
  const choices = await chooseSinks(config, async () => ({ type: 'plain' }) as SinkType)
  const lane = (i: number, order?: string) => {
    const event = headerFor(`web-${i}`, '1', 'MODIFIED', `uid-${i}`)
    const delivery: Delivery = { sink: 'hook', rule: 'r', event, objectJson: Buffer.from('{}') }
    return choices.laneOf({ ...delivery, ...(order !== undefined && { order }) })
  }
  const all = Array.from({ length: 50 }, (_, i) => i)
  expect(new Set(all.map((i) => lane(i, 'group'))).size).toBe(1)
  expect(new Set(all.map((i) => lane(i))).size).toBeGreaterThan(8)
  expect(new Set(all.map((i) => lane(0, `group-${i}`))).size).toBeGreaterThan(8)
})
