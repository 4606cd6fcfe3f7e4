import { expect, test } from 'vitest'
import type { LeaseObject } from '../../../src/watch/leases/lease.ts'
import { isFree, NOTHING_SEEN, observe, type Seen } from '../../../src/watch/leases/lease-decision.ts'

const DURATION_MS = 15_000

/** Since when it is free, in seconds of looking at it once a second; undefined when it is not within two hours. */
function freeAfter(spec: LeaseObject['spec']): number | undefined {
  const metadata = { name: 'one', uid: 'one', resourceVersion: '1' }
  const lease: LeaseObject = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata,
    ...(spec && { spec }),
  }
  let board = NOTHING_SEEN
  for (let second = 1; second <= 7_200; second++) {
    const nowMs = second * 1_000
    board = observe(board, [lease], { sentMs: nowMs, receivedMs: nowMs, maxGapMs: DURATION_MS / 3 })
    if (isFree(board, board.seen.get('one') as Seen, DURATION_MS)) return second - 1
  }
  return undefined
}

test('a lease is free when it stood unchanged for its duration, whatever times are written into it', () => {
  const renewTime = '2999-01-01T00:00:00.000000Z'
  expect(freeAfter({ holderIdentity: 'ghost', leaseDurationSeconds: 20, renewTime })).toBe(20)
  expect(freeAfter({ holderIdentity: 'ghost', renewTime })).toBe(15)
})

test('a lease without a holder is free at once', () => {
  expect(freeAfter(undefined)).toBe(0)
  expect(freeAfter({ holderIdentity: '', leaseDurationSeconds: 2_147_483_647 })).toBe(0)
})

test('a duration that no configuration can ask for keeps a watch from everybody for an hour at most', () => {
  expect(freeAfter({ holderIdentity: 'ghost', leaseDurationSeconds: 2_147_483_647 })).toBe(3_600)
})
