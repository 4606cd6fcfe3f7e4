import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { loadText, told } from './load-text.ts'

const FOLDER = fileURLToPath(new URL('../fixtures/config/rules/', import.meta.url))

/** What stands in the file, and what goes in its place; the hint has that, or `written`. */
const change = (from: string, to: string, written = to) => ({ from, to, written })

test.each<[string, ReturnType<typeof change>[]]>([
  ['condition-event', [change('kind: Event', 'kind: Node'), change('watch: [Event]', 'watch: [Node]')]],
  ['mute-same', [change('mute: { from: "22:00", to: "22:00" }', 'mute: { days: [sat, sun] }')]],
  ['watched-twice', [change(', { kind: Pod, labels: team=a }', '', 'keep only Pod ')]],
  [
    'watched-twice',
    [
      change('Pod, {', '{', 'or only { kind: Pod, labels: team=a }'),
      change('{ kind: Pod }', '{ kind: Pod, labels: team=a }', 'with team=a'),
    ],
  ],
  ['from-is-to-state', [change('    from: { status.phase: Failed }\n', '', 'leave "from" out')]],
  ['regarding-labels', [change('"team: shop"', 'team=shop')]],
  ['changed-map', [change('changed: { spec.replicas: 3 }', 'to-state: { spec.replicas: 3 }')]],
  ['changed-map', [change('changed: { spec.replicas: 3 }', 'changed: [spec.replicas]')]],
  ['changed-space', [change('spec.replicas, spec.template', '[spec.replicas, spec.template]')]],
  ['throttle-list', [change('"namespace, reason"', '[namespace, reason]')]],
  [
    'labels-template',
    [
      change('labels: { team: "{{ labels.team }}" }', 'message: { fields: { team: "{{ labels.team }}" } }'),
      change('screen: { type: stdout }', 'screen: { type: stdout, format: message }'),
    ],
  ],
  [
    'condition-not-ready',
    [change('ready,', 'Ready,', '"Ready"'), change('becomes: NotReady', 'becomes: ["False", "Unknown"]')],
  ],
  [
    'to-state-comparison',
    [
      change(
        'to-state: { status.readyReplicas: "<1" }',
        'if: object.status.?readyReplicas.orValue(0) < 1\n    changed: status.readyReplicas',
        'if: object.status.?readyReplicas.orValue(0) < 1, and changed: status.readyReplicas',
      ),
    ],
  ],
  ['look-around', [change('"/^web-(?!test)/"', '["web-*", "!web-test*"]')]],
  [
    'owner-with-namespace',
    [
      change('Deployment/shop/web', 'Deployment/web'),
      change('kind: Pod,', 'kind: Pod, namespace: shop,', 'namespace: shop'),
    ],
  ],
  ['changed-double-star', [change('spec.**.image', 'spec.template.spec.containers.*.image')]],
  [
    'group-alertmanager',
    [change('group_by: [namespace]\n    group_wait: 30s', 'group: { by: [namespace], wait: 30s }')],
  ],
  ['condition-two-for', [change('    for: 5m\n', '', 'leave this one out for 2m')]],
  ['condition-two-for', [change(', for: 2m', '', 'the one in "condition" for 5m')]],
  ['condition-from-is-becomes', [change('from: "False"', 'from: "True"')]],
  ['changed-in-block', [change('spec.template.', 'spec.template')]],
  ['changed-object', [change('object.spec.replicas', 'spec.replicas')]],
  ['resolve-event', [change('resolve: true', 'resolve: { after: 15m }')]],
  ['throttle-per', [change('per: pod', 'per: regarding', 'regarding')]],
  ['type-update', [change('Updated', 'MODIFIED')]],
  ['owner-event', [change('owner: Deployment/web', 'regarding: { owner: Deployment/web }')]],
  [
    'regarding-reason',
    [
      change(
        'when: { kind: Event, regarding: { kind: Pod, reason: BackOff } }',
        'when: { kind: Event, regarding: { kind: Pod }, reason: BackOff }',
      ),
    ],
  ],
  [
    'severity-list',
    [
      change('    severity: [error, warning]\n', '', 'leave "severity" out'),
      change('when: { kind: Event }', 'when: { kind: Event, type: Warning }'),
    ],
  ],
  [
    'containers-of-deployment',
    [
      change('spec.containers.*.image', 'spec.template.spec.containers.*.image'),
      change('object.spec.containers', 'object.spec.template.spec.containers'),
      change('spec.nodeSelector.pool', 'spec.template.spec.nodeSelector.pool'),
    ],
  ],
  ['labels-text', [change('labels: team=shop', 'labels: { team: shop }')]],
  [
    'labels-text',
    [
      change('    labels: team=shop\n', '', 'when'),
      change('when: { kind: Event }', 'when: { kind: Event, regarding: { labels: team=shop } }'),
    ],
  ],
  ['severity-list', [change('severity: [error, warning]', 'severity: error')]],
  ['count-number', [change('count: 10', 'count: [10]')]],
  ['count-number', [change('count: 10', 'count: { every: 10 }')]],
  ['count-pod', [change('count: [1, 10]', 'after: { count: 10, within: 10m }')]],
  ['for-event', [change('for: 2m', 'after: { count: 3, within: 2m }')]],
  ['for-map', [change('{ minutes: 2 }', '2m')]],
  ['throttle-limit', [change('interval', 'every'), change('limit', 'burst')]],
  ['age-plain', [change('age: 10m', 'age: "<10m"', '"<10m"')]],
  ['condition-text', [change('condition: Ready', 'condition: { type: Ready, becomes: "False" }')]],
  [
    'to-state-nested',
    [change('to-state: { status: { phase: Failed } }', 'to-state: { status.phase: Failed }')],
  ],
  ['changed-both', [change('    unchanged: spec.replicas\n', '', 'leave "changed" or "unchanged" out')]],
  ['severity-critical', [change('critical', 'error')]],
  [
    'when-manager',
    [
      change(
        ', manager: "kubectl*" }',
        ' }, if: event.manager.startsWith("kubectl")',
        'beside "when": if: event.manager.startsWith("kubectl")',
      ),
    ],
  ],
  ['namespace-labels-of-node', [change('namespaceLabels: env=prod', 'labels: env=prod')]],
  ['mute-timezone', [change('Europe/Berln', 'Europe/Berlin')]],
  ['mute-ampm', [change('"10pm"', '"22:00"'), change('"7am"', '"07:00"')]],
  ['sample-percent', [change('10%', '0.1')]],
  ['for-long', [change('2 minutes', '2m')]],
  ['throttle-unit', [change('10min', '10m')]],
  ['owner-with-expression', [change('"Deployment/^web-.*$"', '"Deployment/web-*"')]],
  ['owner-with-expression', [change('"Deployment/^web-.*$"', '"/^Deployment/web-.*$/"')]],
  ['stop', [change('stop: true', 'continue: false')]],
])('%s checks clean when it is mended as it is told: %j', async (name, changes) => {
  let text = readFileSync(`${FOLDER}${name}.yaml`, 'utf8')
  const loaded = await loadText(text)
  const hints = (loaded.ok ? loaded.warnings : loaded.problems).map(({ hint }) => hint).join('\n')
  for (const { from, to, written } of changes) {
    expect(hints).toContain(written)
    expect(text).toContain(from)
    text = text.replace(from, () => to)
  }
  expect(await told(text)).toEqual([])
})
