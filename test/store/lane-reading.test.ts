import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { LaneReading } from '../../src/store/lanes/lane-reader.ts'
import type { LaneServices } from '../../src/store/lanes/owned-lanes.ts'
import { createTroubles } from '../../src/store/redis/redis-fault.ts'

test('a lane that Redis refuses to read is no trouble of a process that does not own it any more', () => {
  const troubles = createTroubles(silentLog)
  const reading = new LaneReading({ troubles, log: silentLog } as LaneServices, 'hook/n0', false)
  const refusal = Object.assign(new Error('NOPERM no permission'), { name: 'ReplyError' })
  reading.failed(refusal)
  expect(troubles.first()).toContain('hook/n0')
  reading.leave()
  expect(troubles.first()).toBeUndefined()
})
