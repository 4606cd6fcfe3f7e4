import { expect, test } from 'vitest'
import { subjectKey } from '../../../sinks/webhook/presets/parts.ts'
import { causesOf, heartbeatOf, type OwnReport } from '../../../src/app/notify/causes.ts'
import { ownDelivery } from '../../../src/app/notify/own-event.ts'
import { recoveryOf } from '../../../src/app/notify/recoveries.ts'
import { createRender } from '../../../src/render/message.ts'

const render = createRender({ routeOf: () => undefined, contentOf: () => expect.fail('not rendered') })
const messageOf = (report: OwnReport) =>
  render(
    ownDelivery(report, { sink: 'ops', cluster: 'prod', namespace: 'kubeherald', nowMs: 1_800_000_000_000 }),
    0,
  )
const hook = {
  ...{ sink: 'hook', healthy: false, quarantined: 0, failingTargets: 0 },
  lastError: 'the receiver answered 503',
}
const STATE = {
  watches: [],
  metadata: [],
  sinks: [hook],
  config: { appliedMs: 0 },
  newDeadLetters: new Map(),
  isLedgerBalanced: true,
}
const [failure] = causesOf(STATE, 'ops') as [OwnReport]
const recovery = recoveryOf(
  { on: 'sink-failing', subject: 'hook' },
  1_800_000_000_000 - 720_000,
  1_800_000_000_000,
)

test('the title of a failure is its message, and the command exists', () => {
  const { summary } = messageOf(failure)
  expect(summary.title).toMatch(/hook.*503/)
  expect(summary).toMatchObject({ severity: 'error', command: 'kubeherald status' })
})

test('a number keeps its distance from its noun', () => {
  const [one] = causesOf({ ...STATE, sinks: [], newDeadLetters: new Map([['hook', 1]]) }, 'ops') as [
    OwnReport,
  ]
  expect(messageOf(one).summary.title).toMatch(/^kubeherald: 1 \w/)
})

test('a recovery resolves the incident of its failure', () => {
  const [first, last] = [messageOf(failure), messageOf(recovery)]
  expect(last.summary).toMatchObject({ severity: 'resolved', command: '' })
  expect(last.summary.title).toMatch(/hook.*12m/)
  expect(last.notice?.kind).toBe('resolved')
  expect(subjectKey(last)).toBe(subjectKey(first))
  expect(last.rule).toBe(first.rule)
  expect(last.id).not.toBe(first.id)
})

test('a heartbeat is no failure', () => {
  const watch = {
    ...{ key: 'w', title: 'pods', phase: 'watching' as const, resourceVersion: '1' },
    ...{ lastContactMs: 0, aliveUntilMs: 0, ready: true },
  }
  const beat = heartbeatOf({ watches: [watch], sinks: [] })
  expect(messageOf(beat as OwnReport).summary).toMatchObject({ severity: 'info', command: '' })
})

test('a long reason is shortened in the title, and whole in the quote', () => {
  const [long] = causesOf({ ...STATE, sinks: [{ ...hook, lastError: 'x'.repeat(500) }] }, 'ops') as [
    OwnReport,
  ]
  const { title, quote } = messageOf(long).summary
  expect(title.length).toBeLessThanOrEqual(200)
  expect(quote).toContain('x'.repeat(500))
})
