import { expect, test } from 'vitest'
import { createSilences } from '../../../src/rules/silences/silences.ts'
import { type Bed, openBed, START_MS } from './bed.ts'

/** Silences for seconds after the start. */
function silence(bed: Bed, from: number, until: number, match: object = { rule: 'r' }, id = 'a'): void {
  const times = { fromMs: START_MS + from * 1000, untilMs: START_MS + until * 1000, createdMs: START_MS }
  bed.memory.silences = createSilences([{ id, match: { ...match }, ...times, reason: 'deploy', by: 'alice' }])
}

test('a silenced event is suppressed, and enters no limit', () => {
  const bed = openBed({ throttle: { every: '10m' }, group: { by: 'namespace', wait: '2m' } })
  silence(bed, 10, 60)
  bed.run({ at: 0 }, { at: 10, name: 'b' }, { at: 59, name: 'c' }, { at: 60, name: 'd' })
  expect(bed.until(130)).toEqual(['120 digest of 2'])
  expect(bed.counts()).toEqual({ matched: 4, digested: 2, silence: 2, notices: 1 })
})

test('other rules and sinks get the event; what is silenced for some sinks is sent to the others and counts as sent', () => {
  const bed = openBed({ throttle: { every: '1m' } }, { throttle: { every: '1m' } })
  silence(bed, 0, 600, { rule: 'r', sink: 'chat' })
  expect(bed.run({ at: 0, sinks: ['chat', 's'] }, { at: 1, rule: 'other', sinks: ['chat'] })).toEqual([
    '0 web',
    '1 chat: web',
  ])
  expect(bed.counts()).toEqual({ matched: 1, sent: 1 })
})

test('a digest has only events of all of its sinks', () => {
  const bed = openBed({ group: { by: 'namespace', wait: '1m' } })
  silence(bed, 5, 600, { sink: 'chat' })
  const sinks = ['chat', 's']
  bed.run(
    { at: 0, name: 'a', sinks },
    { at: 1, name: 'b', sinks },
    { at: 10, name: 'c', sinks },
    { at: 11, name: 'd', sinks },
  )
  expect(bed.until(100)).toEqual(['60 chat: digest of 2', '60 digest of 2', '70 digest of 2'])
})

test('the resolve notification of what was sent before still comes', () => {
  const bed = openBed({ resolve: true })
  bed.run({ at: 0 })
  silence(bed, 5, 600)
  expect(bed.run({ at: 10, holds: false })).toEqual(['0 web', '10 web ended'])
  const quiet = openBed({ resolve: { after: '1m' } })
  quiet.run({ at: 0 })
  silence(quiet, 5, 600)
  // A silenced event shows that the incident lasts.
  quiet.run({ at: 30 })
  expect(quiet.until(100)).toEqual(['0 web', '90 web quiet'])
  expect(quiet.counts()).toEqual({ matched: 2, sent: 1, silence: 1, notices: 1 })
})

test('an incident that begins while it is silenced is sent when it still lasts at the end', () => {
  const bed = openBed({ for: '10s', resolve: true })
  silence(bed, 5, 3_000)
  bed.run({ at: 0 }, { at: 20, name: 'short' }, { at: 100, name: 'short', holds: false })
  expect(bed.counts()).toEqual({ matched: 2, waiting: 1, silence: 1 })
  expect(bed.until(4_000)).toEqual(['3000 web'])
  expect(bed.run({ at: 4_001, holds: false })).toEqual(['3000 web', '4001 web ended'])
})

test('a silence that is ended early lets what waits go within minutes, one that is added later holds it', () => {
  const bed = openBed({ resolve: true })
  silence(bed, 0, 36_000)
  bed.run({ at: 0 })
  bed.until(400)
  silence(bed, 0, 450)
  expect(bed.until(900)).toEqual(['600 web'])
  const later = openBed({ for: '1m' })
  later.run({ at: 0 })
  silence(later, 30, 90)
  expect(later.until(400)).toEqual(['90 web'])
})

test('a debounced event waits for the end of the silence, so that the last state is sent', () => {
  const bed = openBed({ debounce: { quiet: '10s' } })
  silence(bed, 0, 100)
  bed.run({ at: 0, labels: { n: '1' } }, { at: 50, labels: { n: '2' } })
  expect(bed.until(200)).toEqual(['100 web +1'])
  expect(bed.counts()).toEqual({ matched: 2, sent: 1, debounce: 1 })
})

test('silences and mute windows follow each other', () => {
  // 10:01 to 10:02
  const bed = openBed({ mute: { from: '10:01', to: '10:02' }, resolve: true })
  silence(bed, 0, 70)
  bed.run({ at: 0 })
  expect(bed.until(400)).toEqual(['120 web'])
})

test('what a silence suppressed is recorded with its id, who added it, and why', () => {
  const bed = openBed({ throttle: { every: '1m' } })
  silence(bed, 0, 60)
  bed.run({ at: 0, sinks: ['chat', 's'] })
  expect(bed.suppressed).toEqual([
    {
      rule: 'r',
      limit: 'silence',
      silence: 'a',
      sinks: ['chat', 's'],
      untilMs: START_MS + 60_000,
      detail: expect.stringContaining('by alice: deploy'),
    },
  ])
})
