import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { PRESETS } from '../../sinks/webhook/presets/index.ts'
import { checkWidth } from '../../src/config/check-width.ts'
import { loadText, told, withRules } from './load-text.ts'

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
  [
    'regarding-annotations',
    [change('annotations: { team: shop }', 'labels: { team: shop }', 'regarding: { labels: … }')],
  ],
  [
    'template-go',
    [
      change('.InvolvedObject.Name', 'about.name', 'write about.name'),
      change('.Message', 'event.message', 'write event.message'),
    ],
  ],
  ['debounce', [change('debounce: 30s', 'group: { wait: 30s }')]],
  [
    'debounce',
    [
      change('debounce: 30s', 'for: 30s'),
      change('{ kind: Event }', '{ kind: Pod }', 'objects that stay so'),
      change('[Event]', '[Pod]', ''),
    ],
  ],
  [
    'when-field',
    [
      change(', status.phase: Failed }', ' }', 'beside "when"'),
      change(
        'to: [screen]',
        'if: object.status.phase == "Failed"\n    to: [screen]',
        'if: object.status.phase == "Failed"',
      ),
    ],
  ],
  [
    'when-status',
    [
      change(', status: { phase: Failed } }', ' }', 'beside "when"'),
      change(
        'to: [screen]',
        'to-state: { status.phase: "Failed" }\n    to: [screen]',
        'to-state: { status.phase: "Failed" }',
      ),
    ],
  ],
  [
    'when-comparison',
    [
      change('{ status.phase == Failed }', '{}', 'beside "when"'),
      change(
        'to: [screen]',
        'if: object.status.phase == "Failed"\n    to: [screen]',
        'if: object.status.phase == "Failed"',
      ),
    ],
  ],
  [
    'reason-of-container',
    [
      change('CrashLoopBackOff', 'BackOff', 'write BackOff'),
      change('ErrImagePull', 'Failed', 'write Failed'),
    ],
  ],
  [
    'drop-unwatched',
    [change('  - name: b\n    when: { kind: Deployment }\n    drop: true\n', '', 'leave this rule out')],
  ],
  [
    'preset-as-type',
    [
      change('type: teams', 'type: webhook, preset: teams', 'type: webhook and preset: teams'),
      change(
        'type: pagerduty',
        'type: webhook\n    preset: pagerduty',
        'type: webhook and preset: pagerduty',
      ),
      change('${file:routing-key}', '0123456789abcdef0123456789abcdef', ''),
    ],
  ],
  [
    'connector-retired',
    [change('webhook.office.com/webhookb2', 'logic.azure.com/workflows', 'write its URL here')],
  ],
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

test('a watch is not to be narrowed so that a rule that drops has nothing to drop', async () => {
  const rules = (namespace: string) =>
    withRules(
      `  - { name: b, when: { namespace: ${namespace} }, drop: true }\n  - { name: a, when: { namespace: shop }, to: screen }`,
      '[Pod]',
    )
  const widthOf = async (text: string) => {
    const loaded = await loadText(text)
    return loaded.ok ? checkWidth(loaded.document) : loaded.problems
  }
  expect(await widthOf(rules('payments'))).toEqual([])
  expect(await widthOf(rules('shop'))).toHaveLength(1)
})

test.each(Object.keys(PRESETS))('a sink of type %s is the preset of a webhook', async (preset) => {
  const text = `watch: [Pod]\nsinks: { a: { type: ${preset} } }\nrules: [{ name: a, to: a }]`
  expect((await told(text)).join()).toContain(`type: webhook and preset: ${preset}`)
})

test('a variable as shells write it is told, and not repeated: it may be a password', async () => {
  const text = (token: string) =>
    `watch: [Pod]\nsinks: { a: { type: webhook, url: "https://x/y", auth: { bearer: ${token} } } }\nrules: [{ name: a, to: a }]`
  for (const token of ['$TOKEN', '$(TOKEN)']) {
    const [warning = ''] = await told(text(token))
    expect(warning).toContain('${env:NAME}')
    expect(warning).not.toContain('TOKEN')
  }
  expect(await told(text('$token-9'))).toEqual([])
})
