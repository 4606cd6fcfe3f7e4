import { expect, test } from 'vitest'
import { fieldsOf, VARIABLES } from '../../../src/rules/cel/event-fields.ts'
import { EVENT_FIELDS } from '../../../src/sink/template/view.ts'
import { markup, problemsIn, rendered } from './subject.ts'

const OWNER = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u' }
const SAID = {
  event: {
    type: 'Warning',
    reason: 'BackOff',
    message: 'Back-off',
    count: 3,
    regarding: { kind: 'Pod', name: 'web-1' },
  },
}

test('templates know event by the names that "if" knows', () => {
  expect(EVENT_FIELDS.toSorted()).toEqual(fieldsOf(VARIABLES.event).toSorted())
})

test('of any object there is what became of it, and its top controller', () => {
  const template =
    '{{ event.type }} {{ event.kind }} {{ event.name }} {{ event.synthesized }} {{ event.owner.kind }}/{{ event.owner.name }} [{{ event.reason }}]'
  expect(rendered(template, markup, { event: { kind: 'Pod', owner: OWNER } })).toBe(
    'MODIFIED Pod web false Deployment/web []',
  )
})

test('of an Event there is what it says, and the controller above what it is about', () => {
  const template =
    '{{ event.type }} {{ event.eventType }} {{ event.reason }} {{ event.count }} {{ event.regarding.name }} {{ event.owner.name }} {{ event.regarding.owner.name }}'
  expect(rendered(template, markup, { event: { kind: 'Event', owner: OWNER, ...SAID } })).toBe(
    'MODIFIED Warning BackOff 3 web-1 web web',
  )
})

test('related metadata has the keys that templates name, and nothing where it is not known', () => {
  const template =
    '{{ namespaceAnnotations["team/slack"] }} {{ event.namespaceLabels.env }} {{ event.regarding.labels["a/b"] }} {{ event.regarding.annotations.team }}'
  const related = {
    namespaceAnnotations: { 'team/slack': 'shop' },
    namespaceLabels: { env: 'prod' },
    regardingLabels: { 'a/b': 'c' },
    regardingAnnotations: { team: '<x>' },
  }
  expect(rendered(template, markup, { event: { kind: 'Event', ...SAID, related } })).toBe(
    'shop prod c &lt;x>',
  )
  expect(rendered(`[${template}]`, markup, { event: { kind: 'Event', ...SAID } })).toBe('[   ]')
})

test.each([
  ['{{ namespaceAnnotations | json }}', 'namespaceAnnotations'],
  ['{{ event.namespaceLabels[name] }}', 'event.namespaceLabels[name]'],
  ['{% for it in event.regarding.labels %}{{ it }}{% endfor %}', 'event.regarding.labels'],
  ['{{ namespaceLabels.a.b }}', 'namespaceLabels.a.b'],
  ['{{ event["namespaceLabels"].a }}', 'event["namespaceLabels"].a'],
  ['{{ event.regarding["labels"].a }}', 'event.regarding["labels"].a'],
])('%s is refused: notifications carry only keys that are named', (template, place) => {
  expect(problemsIn(template)).toEqual([expect.stringContaining(`[${place}]`)])
})
