import { expect, test } from 'vitest'
import type { WatchStatus } from '../../../src/model/status.ts'
import { answer } from '../../servers/lease-server.ts'
import { waitFor } from '../../wait-for.ts'
import { LEASE, QUICK, SOURCE, startLeaseBed } from './lease-bed.ts'

/** Of a lease that no pause of the machine ends; only tests that wait for its end need a short one. */
const LASTING = { durationMs: 30_000, renewDeadlineMs: 20_000 }

async function startHolder(timing: Partial<typeof QUICK> = {}) {
  const bed = await startLeaseBed()
  const one = bed.start('one', { timing })
  one.watch()
  await waitFor(() => one.current(), { what: 'the first run' })
  return { bed, one }
}

const renewals = (bed: Awaited<ReturnType<typeof startLeaseBed>>) =>
  bed.server.requests.filter(({ method, path }) => method === 'PUT' && path.endsWith(LEASE)).length

/** Waits for renewals that succeed. */
async function renews(bed: Awaited<ReturnType<typeof startLeaseBed>>): Promise<void> {
  const { resourceVersion } = bed.lease().metadata
  await waitFor(() => bed.lease().metadata.resourceVersion !== resourceVersion, { what: 'a renewal' })
  const before = renewals(bed)
  await waitFor(() => renewals(bed) >= before + 3, { what: 'three more' })
}

/** Whether a run may still write. */
function isCertain(run: { guard: { check(): void } } | undefined): boolean {
  try {
    run?.guard.check()
    return run !== undefined
  } catch {
    return false
  }
}

test('a lease says who holds it since when, as client-go writes it, and for which watch', async () => {
  const { bed } = await startHolder(LASTING)
  await using _ = bed
  const { metadata, spec } = bed.lease()
  expect(metadata.name).toMatch(/^kubeherald-test-configmaps-in-shop-[0-9a-f]{10}$/)
  expect(metadata.labels).toMatchObject({
    'app.kubernetes.io/name': 'kubeherald',
    'kubeherald.dev/cluster': 'test',
  })
  expect(metadata.annotations).toMatchObject({ 'kubeherald.dev/watch': 'configmaps in shop' })
  expect(spec).toMatchObject({ holderIdentity: 'one', leaseDurationSeconds: 30, leaseTransitions: 0 })
  expect(spec?.acquireTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  await renews(bed)
  expect(bed.lease().spec?.acquireTime).toBe(spec?.acquireTime)
  expect(bed.lease().spec?.renewTime).not.toBe(spec?.renewTime)
})

test.each([500, 503, 429, 401])(
  'a renewal that is answered with %i is tried again, and the run goes on',
  async (status) => {
    const { bed, one } = await startHolder(LASTING)
    await using _ = bed
    let refused = 0
    bed.server.fault = ({ method, applied }, response) =>
      !applied && method === 'PUT' && refused++ < 2 && answer(response, status)
    await waitFor(() => refused > 2, { what: 'the faults' })
    await renews(bed)
    expect(one.runs).toHaveLength(1)
    expect(one.refreshes() > 0).toBe(status === 401)
  },
)

test('an update whose answer is lost has succeeded: the run goes on', async () => {
  const { bed, one } = await startHolder(LASTING)
  await using _ = bed
  let lost = 0
  bed.server.fault = ({ method, path, applied }, response) => {
    if (!applied || method !== 'PUT' || !path.endsWith(LEASE) || lost >= 3) return false
    lost++
    response.destroy()
    return true
  }
  await waitFor(() => lost === 3, { what: 'three lost answers' })
  await renews(bed)
  expect(one.runs).toHaveLength(1)
  expect(bed.lease().spec).toMatchObject({ holderIdentity: 'one', leaseTransitions: 0 })
})

test('what others write into the metadata is a conflict, and stays', async () => {
  const { bed, one } = await startHolder(LASTING)
  await using _ = bed
  bed.server.touch(LEASE, (lease) => {
    const annotations = { ...lease.metadata.annotations, 'example.com/note': 'mine' }
    return { ...lease, metadata: { ...lease.metadata, annotations } }
  })
  await renews(bed)
  expect(bed.lease().metadata.annotations?.['example.com/note']).toBe('mine')
  expect(one.runs).toHaveLength(1)
})

test('a lease that was deleted is made anew', async () => {
  const { bed, one } = await startHolder(LASTING)
  await using _ = bed
  bed.server.leases.delete(LEASE)
  await waitFor(() => bed.lease()?.spec?.holderIdentity === 'one', { what: 'another lease' })
  expect(one.runs).toHaveLength(1)
})

test('a lease that another one took ends the run at once', async () => {
  const { bed, one } = await startHolder()
  await using _ = bed
  bed.server.touch(LEASE, (lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: 'other' } }))
  await waitFor(() => one.runs[0]?.signal.aborted, { what: 'the end of the run' })
  expect(() => one.runs[0]?.guard.check()).toThrow('is not certain')
  expect(await one.metric('lease_held')).toMatchObject([{ value: 0 }])
  // That one never renews: it is taken for dead once the lease has run out.
  await waitFor(() => one.current(), { what: 'another run' })
  expect(bed.lease().spec).toMatchObject({ holderIdentity: 'one', leaseTransitions: 1 })
})

test('who cannot renew stops within the deadline, before anybody else could start, and goes on when it can', async () => {
  const { bed, one } = await startHolder()
  await using _ = bed
  await renews(bed)
  bed.server.fault = ({ applied }) => !applied
  const awayMs = performance.now()
  let certainMs = 0
  await waitFor(
    () => {
      // Before the guard reads its clock: a busy machine can pause the test in between.
      const nowMs = performance.now()
      if (isCertain(one.runs[0])) certainMs = nowMs - awayMs
      return one.runs[0]?.signal.aborted
    },
    { what: 'the end of the run' },
  )
  // The deadline counts from the last success, so from before the fault; others wait for the whole duration.
  expect(certainMs).toBeLessThan(QUICK.durationMs)
  expect(String(one.runs[0]?.signal.reason)).toContain('could not be renewed in time')
  bed.server.fault = undefined
  await waitFor(() => one.current(), { what: 'another run' })
  expect(bed.lease().spec).toMatchObject({ holderIdentity: 'one', leaseTransitions: 0 })
  const transitions = await one.metric('lease_transitions_total')
  expect(Object.fromEntries(transitions.map(({ labels, value }) => [labels['transition'], value]))).toEqual({
    acquired: 2,
    released: 0,
    lost: 1,
  })
})

test('answers that come later than the deadline renew nothing', async () => {
  const { bed, one } = await startHolder()
  await using _ = bed
  const pending: (() => void)[] = []
  bed.server.fault = ({ method, applied }, response) => {
    if (!applied || method !== 'PUT') return false
    pending.push(() => answer(response, 200, bed.lease()))
    return true
  }
  await waitFor(() => one.runs[0]?.signal.aborted, { what: 'the end of the run' })
  for (const late of pending) late()
  expect(() => one.runs[0]?.guard.check()).toThrow('is not certain')
})

test('a watch whose lease was lost and taken again is as ready as before', async () => {
  const { bed, one } = await startHolder()
  await using _ = bed
  // As its run reports.
  one.status.ready = true
  bed.server.fault = ({ applied }, response) => !applied && answer(response, 503)
  await waitFor(() => one.runs[0]?.signal.aborted, { what: 'the end of the run' })
  bed.server.fault = undefined
  await waitFor(() => one.current(), { what: 'another run' })
  expect(one.status.ready).toBe(true)
})

test.each([403, 404, 422])(
  'without the right (%i) nothing is watched, and status says why; then it begins',
  async (status) => {
    await using bed = await startLeaseBed()
    bed.server.fault = ({ applied }, response) => !applied && answer(response, status)
    const one = bed.start('one')
    one.watch()
    await waitFor(() => one.status.phase === 'failing', { what: 'the status' })
    expect(one.status).toMatchObject({ ready: false })
    expect(one.status.lastError).toMatch(
      new RegExp(`^cannot use leases in namespace ns, and does not watch without: ${status} Test`),
    )
    expect(one.runs).toHaveLength(0)
    bed.server.fault = undefined
    await waitFor(() => one.current(), { what: 'a run' })
  },
)

test.each([403, 503])('status has no password of what answers %i instead of the leases', async (code) => {
  await using bed = await startLeaseBed()
  const message = 'http://me:hunter2@proxy.example does not answer'
  bed.server.fault = ({ applied }, response) =>
    !applied && answer(response, code, { kind: 'Status', reason: 'Test', message, code })
  const one = bed.start('one')
  one.watch()
  await waitFor(() => one.status.lastError?.includes('proxy.example'), { what: 'the status' })
  expect(one.status.lastError).not.toContain('hunter2')
})

test('an update that is refused is told for the watch that it concerns', async () => {
  await using bed = await startLeaseBed()
  bed.server.fault = ({ method, path, applied }, response) =>
    !applied &&
    method === 'POST' &&
    bed.server.leases.size === 1 &&
    path.endsWith('/leases') &&
    answer(response, 403)
  const one = bed.start('one')
  one.watch()
  await waitFor(() => one.status.phase === 'failing', { what: 'the status' })
  expect(one.status.ready).toBe(false)
  expect(one.runs).toHaveLength(0)
})

test('a guard is renewed by a request that begins after it was asked for', async () => {
  const { bed, one } = await startHolder(LASTING)
  await using _ = bed
  const { guard, signal } = one.runs[0] ?? (undefined as never)
  await renews(bed)
  const before = bed.lease().metadata.resourceVersion
  await guard.renewed(signal)
  expect(bed.lease().metadata.resourceVersion).not.toBe(before)
  bed.server.touch(LEASE, (lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: 'other' } }))
  await expect(guard.renewed(signal)).rejects.toThrow('other holds it')
})

test('a watch that is taken away while its lease is being claimed leaves the lease to others', async () => {
  await using bed = await startLeaseBed()
  const [one, two] = [bed.start('one'), bed.start('two')]
  const removed = new AbortController()
  bed.server.fault = ({ method, path, applied }) => {
    if (!applied || method !== 'POST' || !path.endsWith('/leases') || !bed.lease()) return false
    // By now the answer is on its way.
    removed.abort()
    return false
  }
  one.watch(SOURCE, removed.signal)
  await waitFor(() => removed.signal.aborted, { what: 'the claim' })
  two.watch()
  await waitFor(() => two.current(), { what: 'a run elsewhere' })
  expect(bed.lease().spec).toMatchObject({ holderIdentity: 'two' })
  expect(one.runs).toHaveLength(0)
})

test('a lease that lost its labels with its holder is found and taken over once it has run out', async () => {
  await using bed = await startLeaseBed()
  const ghost = { holderIdentity: 'ghost', leaseDurationSeconds: 1 }
  bed.server.leases.set(LEASE, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: LEASE,
      uid: LEASE,
      resourceVersion: '0',
      labels: { 'app.kubernetes.io/name': 'other' },
    },
    spec: ghost,
  })
  const one = bed.start('one')
  one.watch()
  await waitFor(() => bed.lease().metadata.labels?.['kubeherald.dev/cluster'], { what: 'its labels' })
  expect(bed.lease().spec).toEqual(ghost)
  expect(one.runs).toHaveLength(0)
  await waitFor(() => one.current(), { what: 'a run' })
  expect(bed.lease().spec).toMatchObject({ holderIdentity: 'one', leaseTransitions: 1 })
})

test('a holder that let its lease run out is not reported to work on the watch', async () => {
  const { bed, one } = await startHolder()
  await using _ = bed
  const two = bed.start('two')
  two.watch()
  await waitFor(() => two.status.holder === 'one', { what: 'the holder to be known' })
  // Of both processes: their own leases can be written, that of the watch cannot.
  bed.server.fault = ({ method, path, applied }, response) =>
    !applied && method === 'PUT' && path.endsWith(LEASE) && answer(response, 500)
  // As the last holder reports it from its loss on.
  const reported: (string | undefined)[] = []
  const look = ({ phase, holder }: Partial<WatchStatus>) => phase === 'standby' && reported.push(holder)
  await waitFor(
    () => {
      look(one.status)
      return two.status.holder === ''
    },
    { what: 'the lease to run out' },
  )
  await waitFor(() => one.status.holder === '', { what: 'the lease to run out for its last holder' })
  expect(reported).not.toContain('one')
  expect([one, two].map(({ status }) => status.phase)).toEqual(['standby', 'standby'])
})
