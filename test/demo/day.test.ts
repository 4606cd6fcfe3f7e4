import { expect, test } from 'vitest'
import { CATALOGUE } from '../../src/demo/api/request.ts'
import type { Write } from '../../src/demo/api/store.ts'
import { buildWorld } from '../../src/demo/cluster.ts'
import { playDay } from '../../src/demo/day/day.ts'
import type { World } from '../../src/demo/day/world.ts'
import { START_MS, seeded } from './parts.ts'

/** Plays some of the day at once, with a clock that moves as the day says. */
function play(seed: number, changes: number) {
  let nowMs = START_MS
  const world = buildWorld({ random: seeded(seed), clock: { now: () => nowMs } })
  const writes: Write[] = []
  world.store.follow((write) => writes.push(write))
  const beginning = objectsOf(world).filter(({ kind }) => kind !== 'Event')
  const day = playDay(world)
  while (writes.length < changes) nowMs += day.next().value
  return { world, writes, beginning, seconds: (nowMs - START_MS) / 1_000 }
}

function objectsOf(world: World) {
  return CATALOGUE.flatMap((resource) => world.store.list(resource))
}

const told = ({ type, after, before }: Write) => {
  const object = (after ?? before) as any
  return `${type} ${object.kind} ${object.reason ?? object.status?.phase ?? ''}`.trim()
}

test('the same seed plays the same day, another seed another one', () => {
  const revisions = (seed: number) =>
    JSON.stringify(play(seed, 300).writes.map(({ after, before }) => after ?? before))
  expect(revisions(7)).toBe(revisions(7))
  expect(revisions(7)).not.toBe(revisions(8))
})

test('a day has everything that rules are written for', () => {
  const happened = new Set(play(7, 1_500).writes.map(told))
  for (const moment of [
    'MODIFIED Deployment',
    'ADDED ReplicaSet',
    'ADDED Pod Pending',
    'DELETED Pod Running',
    'ADDED Event BackOff',
    'MODIFIED Event BackOff',
    'MODIFIED Event FailedScheduling',
    'ADDED Event SuccessfulRescale',
    'ADDED Event EvictionThresholdMet',
    'ADDED Job',
    'DELETED Job',
    'MODIFIED Database Upgrading',
    'MODIFIED Database BackingUp',
    'DELETED Database Deleting',
    'ADDED Namespace Active',
    'DELETED Namespace Terminating',
    'MODIFIED ConfigMap',
    'MODIFIED Secret',
  ]) {
    expect(happened, moment).toContain(moment)
  }
})

test('a crash loop counts: the Event rises, and the pod restarts', () => {
  const objects = play(7, 300).writes.map(({ after }) => after as any)
  const victim = objects.find((it) => it?.reason === 'BackOff')?.involvedObject.uid
  const counts = objects.filter((it) => it?.reason === 'BackOff' && it.involvedObject.uid === victim)
  expect(counts.map((it) => it.count)).toEqual(Array.from({ length: 12 }, (_, i) => i + 1))
  const restarts = objects.filter((it) => it?.metadata.uid === victim)
  expect(Math.max(...restarts.map((it) => it.status.containerStatuses[0].restartCount))).toBe(4)
})

test('Events of the scheduler are new-style: no timestamps, a series', () => {
  const { writes } = play(7, 600)
  const repeated = writes.map(({ after }) => after as any).findLast((it) => it?.reason === 'FailedScheduling')
  expect(repeated).toMatchObject({
    firstTimestamp: null,
    lastTimestamp: null,
    reportingComponent: 'default-scheduler',
  })
  expect(repeated.eventTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  expect(repeated.series.count).toBe(4)
})

test('something happens one to four times a second, all day', () => {
  const { writes, seconds } = play(7, 2_000)
  expect(writes.length / seconds).toBeGreaterThan(1)
  expect(writes.length / seconds).toBeLessThan(4)
})

test('many days later the cluster has not grown', () => {
  const { world, beginning } = play(7, 20_000)
  const kinds = (objects: { kind: string }[]) => [...new Set(objects.map(({ kind }) => kind))]
  const now = objectsOf(world).filter(({ kind }) => kind !== 'Event')
  expect(kinds(now)).toEqual(expect.arrayContaining(kinds(beginning)))
  expect(now.length).toBeLessThan(beginning.length + 25)
  expect(world.all('v1', 'Event').length).toBeLessThan(1_000)
})

test('objects are as large as real ones, and have what a server adds', () => {
  const { world } = play(7, 300)
  const pods = world.all<any>('v1', 'Pod')
  for (const pod of pods) {
    expect(JSON.stringify(pod).length).toBeGreaterThan(5_000)
    expect(pod.metadata.managedFields[0].fieldsV1['f:metadata']['f:labels']).toBeDefined()
    expect(pod.metadata.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  }
  const uids = objectsOf(world).map(({ metadata }) => metadata.uid)
  expect(new Set(uids).size).toBe(uids.length)
})
