import { expect, test } from 'vitest'
import { openDesk } from '../cli.ts'
import { runHere } from '../here.ts'

const TESTS = `
watch: [{ kind: Pod, fields: "status.phase!=Running" }, { kind: Deployment, labels: alert=yes }, { kind: Job, labels: alert=yes, fields: "status.successful=0" }]
sinks: { screen: { type: stdout }, pager: { type: stdout } }
rules:
  - { name: gone, when: { kind: Deployment, type: DELETED }, to: screen }
  - { name: finished, when: { kind: Job, type: DELETED, labels: alert=yes }, to: screen }
  - { name: new, when: { kind: Deployment, type: ADDED }, to: screen }
  - { name: edited, when: { kind: Deployment }, changed: spec, to: screen }
  - { name: pending, when: { kind: Pod }, to-state: { status.phase: Pending }, for: 10m, to: screen }
  - { name: failed, when: { kind: Pod }, to-state: { status.phase: Failed }, resolve: true, to: pager }
x-watched: &watched { kind: Deployment, name: web, labels: { alert: "yes" }, spec: { replicas: 1 } }
x-unwatched: &unwatched { kind: Deployment, name: web, spec: { replicas: 1 } }
tests:
  - name: a state ends when the object leaves the selection
    given:
      - { kind: Pod, name: a, status: { phase: Pending } }
      - { at: 5m, object: { kind: Pod, name: a, status: { phase: Running } } }
      - { at: 10m }
    expect: [{ suppressed: for }, { none: true }, { none: true }]
  - name: and is resolved then
    given:
      - { kind: Pod, name: a, status: { phase: Failed } }
      - { at: 5m, object: { kind: Pod, name: a, status: { phase: Running } } }
    expect: [{ rule: failed }, { notices: resolved }]
  - name: a label that is removed is a deletion, one that is added a new object
    given:
      - { object: *watched }
      - { object: *unwatched }
      - { object: *unwatched }
      - { object: *watched }
    expect: [{ rule: new }, { rule: gone, messages: 1 }, { none: true }, { rule: new, messages: 1 }]
  - name: with the old object, too
    given:
      - { object: *watched, old: { <<: *unwatched, labels: {} } }
      - { object: *unwatched, old: *watched }
    expect: [{ rule: new, messages: 1 }, { rule: gone, messages: 1 }]
  - name: what the old object leaves out is as in the object
    given:
      - { object: *watched, old: { spec: { replicas: 2 } } }
      - { object: { kind: Pod, name: a, spec: { n: 1 }, status: { phase: Running, n: 1 } }, old: { spec: { n: 2 }, status: { n: 2 } } }
      - { object: { kind: Pod, name: b, status: { phase: Pending } }, old: { status: { phase: Running } } }
    expect: [{ rule: edited, messages: 1 }, { none: true }, { suppressed: for }]
  - name: a deletion has what the old object leaves out, too
    given:
      - object: { kind: Job, name: a, labels: { alert: "yes" }, status: { succeeded: 1 } }
        old: { status: { active: 1, succeeded: 0 } }
    expect: { rule: finished, messages: 1 }
  - name: what changes within the selection is a change
    given:
      - { object: *watched }
      - { object: { <<: *watched, spec: { replicas: 2 } } }
    expect: [{ rule: new }, { rule: edited, messages: 1 }]
  - name: the deletion of an object is seen if its last state was selected
    given:
      - { object: *watched }
      - { type: DELETED, object: { kind: Deployment, name: web } }
      - { object: *unwatched }
      - { type: DELETED, object: *watched }
    expect: [{ rule: new }, { rule: gone }, { none: true }, { none: true }]
`

test('an object that enters or leaves the selection of a watch is added or deleted, as in a cluster', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', TESTS)
  const { code, stdout } = await runHere(desk, 'test')
  expect(code, stdout).toBe(0)
})

const AGES = `
watch: [Pod, Event]
sinks: { screen: { type: stdout } }
rules:
  - { name: dies-young, when: { kind: Pod, type: DELETED, age: "<5m" }, to: screen }
  - { name: goes-on, when: { kind: Event, age: ">10m" }, to: screen }
tests:
  - name: an object keeps the time of its creation
    given: [{ object: { kind: Pod, name: web } }, { at: 2h, type: DELETED, object: { kind: Pod, name: web } }]
    expect: { none: true }
  - name: until it is created again
    given:
      - { object: { kind: Pod, name: web } }
      - { at: 2h, type: DELETED, object: { kind: Pod, name: web } }
      - { at: 2h, object: { kind: Pod, name: web } }
      - { at: 2h, type: DELETED, object: { kind: Pod, name: web } }
    expect: { rule: dies-young, messages: 1 }
  - name: a time that is given for the old object is that of the new one
    given: { type: MODIFIED, object: { kind: Event, reason: A }, old: { creationTimestamp: "2026-01-05T11:00:00Z" } }
    expect: { rule: goes-on }
  - name: an Event that goes on becomes old
    given: { object: { kind: Event, reason: BackOff, regarding: { kind: Pod, name: web } }, times: 20, every: 1m }
    expect: { rule: goes-on, messages: 9 }
`

test('a repeated object has the age of its first state', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', AGES)
  const { code, stdout } = await runHere(desk, 'test')
  expect(code, stdout).toBe(0)
})
