import { expect, test } from 'vitest'
import type { Logger } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { ApiFault } from '../../src/watch/client/api-fault.ts'
import { ReflectorStatus } from '../../src/watch/reflector/reflector-status.ts'
import { afterFault, NO_HISTORY } from '../../src/watch/reflector/retry-policy.ts'
import { DEFAULT_TIMING } from '../../src/watch/reflector/timing.ts'

test.each([
  [403, 'Forbidden', '"kubeherald rbac" prints the permissions'],
  [401, 'Unauthorized', 'a token may have expired'],
])('a watch that is answered %s %s is logged with advice', (code, reason, advice) => {
  const lines: object[] = []
  const log = { warn: (fields: object) => lines.push(fields) } as unknown as Logger
  const report = new ReflectorStatus(
    { metrics: createMetrics(), log, clock: { now: () => 0 }, report: () => {} },
    'pods',
  )
  const error = new ApiFault({ code, reason, message: '', causes: [] })
  report.trouble(
    error,
    afterFault(error, NO_HISTORY, DEFAULT_TIMING, () => 0),
  )
  expect(lines).toMatchObject([{ advice: expect.stringContaining(advice) }])
})
