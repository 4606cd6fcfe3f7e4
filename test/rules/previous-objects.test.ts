import { expect, test } from 'vitest'
import { kindsToStore, storesPrevious } from '../../src/rules/previous-objects.ts'
import type { Rule } from '../../src/rules/schema.ts'
import { DATABASE, DEPLOYMENT, EVENT, NEW_EVENT, NODE, POD } from './events.ts'

/** The kinds of which old objects are kept when the sink `chat` tells changes. */
function kept(...rules: Omit<Rule, 'name'>[]): string[] {
  const keeps = storesPrevious(rules.map((rule) => kindsToStore(rule, rule.to?.includes('chat') ?? false)))
  return [POD, NODE, DEPLOYMENT, DATABASE, EVENT, NEW_EVENT].filter(keeps).map(({ kind }) => kind)
}

type Row = [what: string, rules: Omit<Rule, 'name'>[], kinds: string[]]

const ROWS: Row[] = [
  ['no rule', [], []],
  ['a rule that sends to a sink without readers', [{ when: { kind: 'Pod' }, to: ['bus'] }], []],
  [
    'kinds of a rule that sends to people, in any spelling',
    [{ when: { kind: ['deploy', 'databases.*'] }, to: ['chat', 'bus'] }],
    ['Deployment', 'Database'],
  ],
  [
    'all but Events when a rule names no kind',
    [{ when: { namespace: 'shop' }, to: ['chat'] }],
    ['Pod', 'Node', 'Deployment', 'Database'],
  ],
  [
    'nothing for Events',
    [
      { when: { kind: 'Event' }, to: ['chat'] },
      { when: { reason: 'BackOff' }, to: ['chat'] },
    ],
    [],
  ],
  ['nothing for rules that drop', [{ when: { kind: 'Pod' }, drop: true, to: ['chat'] }], []],
  ['nothing when only new objects are told', [{ when: { kind: 'Pod', type: 'ADDED' }, to: ['chat'] }], []],
  [
    'what is told when it goes, as it was',
    [{ when: { kind: 'Pod', type: 'DELETED' }, to: ['chat'] }],
    ['Pod'],
  ],
  ['what is told when it changes', [{ when: { kind: 'Pod', type: '!ADDED' }, to: ['chat'] }], ['Pod']],
  ...[{ age: '<5m' }, { annotations: { team: 'pay' } }, { owner: 'Deployment/web' }].map(
    (more): Row => [
      `what a rule reads of a deletion: ${Object.keys(more)}`,
      [{ when: { kind: 'Pod', type: ['ADDED', 'DELETED'], ...more }, to: ['bus'] }],
      ['Pod'],
    ],
  ),
  ...['object.spec.nodeName == "a"', 'event.owner.kind == "Deployment"'].map(
    (expression): Row => [
      `what an expression reads of a deletion: ${expression}`,
      [{ when: { kind: 'Pod', type: 'DELETED' }, if: expression, to: ['bus'] }],
      ['Pod'],
    ],
  ),
  [
    'what decides that a deletion is dropped',
    [{ when: { kind: 'Pod', type: 'DELETED', owner: 'Job' }, drop: true }],
    ['Pod'],
  ],
  [
    'nothing for a deletion of which only the name and labels are read',
    [
      { when: { kind: 'Pod', type: 'DELETED', labels: { app: 'web' } }, to: ['bus'] },
      { when: { kind: 'Pod', type: 'DELETED' }, if: 'event.name == "web"', to: ['bus'] },
    ],
    [],
  ],
  [
    'nothing where a rule does not name deletions',
    [
      { when: { kind: 'Pod', age: '<5m' }, to: ['bus'] },
      { when: { kind: 'Pod', type: '!ADDED' }, if: 'has(object.spec)', to: ['bus'] },
    ],
    [],
  ],
  [
    'what any of several rules wants',
    [
      { when: { kind: 'Pod' }, to: ['bus'] },
      { when: { kind: 'Node' }, to: ['chat'] },
    ],
    ['Node'],
  ],
]

test.each(ROWS)('old objects are kept: %s', (_what, rules, kinds) => {
  expect(kept(...rules)).toEqual(kinds)
})
