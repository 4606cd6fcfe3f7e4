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

test('templates know event by the names that "if" knows, but for what messages do not carry', () => {
  expect([...EVENT_FIELDS, 'namespaceLabels'].toSorted()).toEqual(fieldsOf(VARIABLES.event).toSorted())
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

test.each([
  ['event.namespaceLabels.team', '[namespaceLabels] messages do not carry event.namespaceLabels'],
  ['event.regarding.labels["a/b"]', '[regarding] messages do not carry event.regarding.labels'],
])('%s is told to stand in rules only', (name, said) => {
  expect(problemsIn(`{{ ${name} }}`)).toEqual([
    `${said} = ask for them by "when" or "if", and add labels to the rule: labels: { team: shop }`,
  ])
})
