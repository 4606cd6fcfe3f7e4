// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references of the configuration
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { PRESETS } from '../../sinks/webhook/presets/index.ts'
import { checkBroadWatches } from '../../src/config/lint/reach.ts'
import { loadText, problemsOf, withRules } from './load-text.ts'

const FOLDER = fileURLToPath(new URL('../fixtures/config/rules/', import.meta.url))

/** What stands in the file, and what goes in its place; the hint has that, or `written`. */
const change = (from: string, to: string, written = to) => ({ from, to, written })

test.each<[string, ReturnType<typeof change>[]]>([
  ['template-now', [change('{{ now | date: "%Y.%m.%d" }}', '{{ time | date: "%Y.%m.%d" }}')]],
  ['resolve-duration', [change('resolve: 30m', 'resolve: { after: 30m }')]],
  ['age-compound', [change('"<1h30m"', '"<90m"'), change('">= 1.5m"', '">=90s"')]],
  [
    'template-dollar',
    [change('${event.message}', '{{ event.message }}'), change("${about['name']}", "{{ about['name'] }}")],
  ],
  [
    'to-object',
    [
      change('to: { sink: chat }', 'to: [chat]'),
      change(
        '{ name: chat, channel: "#all", mode: message }',
        '{ chat: { channel: "#all", mode: message } }',
        '{ chat: { channel: …, mode: … } }',
      ),
    ],
  ],
  [
    'severity-template',
    [
      change(
        `severity: "{{ event.regarding.labels['severity'] }}"`,
        `message: { severity: "{{ event.regarding.labels['severity'] }}" }`,
      ),
    ],
  ],
  [
    'about-labels',
    [
      change('about.kind', 'event.regarding.kind', 'write event.regarding'),
      change('about.labels["app"]', 'event.regarding.labels["app"]', 'event.regarding.labels["…"]'),
      change(
        'event.annotations["team"]',
        'event.regarding.annotations["team"]',
        'event.regarding.annotations["…"]',
      ),
    ],
  ],
  [
    'template-in-token',
    [
      change('{{ env.SLACK_TOKEN }}', 'xoxb-0000000000', '${env:NAME}'),
      change('{{ token }}', 'xoxb-0000000000', 'write "${env:NAME}" or "${file:PATH}"'),
    ],
  ],
  [
    'state-incomplete',
    [
      change('    throttle: { every: 5m }\n', '', '"throttle"'),
      change('    condition: { type: Ready, becomes: "False" }\n', '', '"condition"'),
      change(', type: [ADDED, MODIFIED]', '', '"type"'),
    ],
  ],
  [
    'every-status',
    [
      change(
        'condition: { type: Ready, becomes: ["True", "False", Unknown] }',
        'changed: status.conditions[type=Ready].status',
      ),
    ],
  ],
  [
    'event-labels',
    [
      change('owner.name', 'event.regarding.owner.name'),
      change('annotations["a/b"]', 'event.regarding.annotations["a/b"]'),
      change('labels.team', 'event.regarding.labels.team'),
    ],
  ],
  ['timezone-abbreviation', [change('EST', 'America/New_York'), change('BST', 'Europe/London')]],
  [
    'other-key-of-sink',
    [
      change('chat:', 'chatId:', 'here it is chatId'),
      change('thread:', 'topicId:', 'here it is topicId'),
      change('hosts:', 'url:', 'here it is url'),
      change('webhook:', 'url:', 'here it is url'),
    ],
  ],
  [
    'condition-event',
    [
      change('kind: Event', 'kind: Node', 'kind: Node'),
      change('watch: [Event]', 'watch: [Node]', 'watch it'),
    ],
  ],
  ['watched-twice', [change(', { kind: Pod, labels: team=a }', '', 'make them one, without selectors')]],
  [
    'condition-not-ready',
    [change('ready,', 'Ready,', '"Ready"'), change('becomes: NotReady', 'becomes: "False"')],
  ],
  [
    'to-state-comparison',
    [
      change(
        'to-state: { status.readyReplicas: "<1" }',
        'if: object.status.?readyReplicas.orValue(0) < 1\n    changed: status.readyReplicas',
        'if: object.status.?readyReplicas.orValue(0) < 1, with changed: status.readyReplicas',
      ),
    ],
  ],
  [
    'drop-unwatched',
    [
      change(
        '  - name: b\n    when: { kind: Deployment }\n    drop: true\n',
        '',
        'there is nothing to drop: leave it out',
      ),
    ],
  ],
  ['regarding-labels', [change('"team: shop"', 'team=shop')]],
  ['changed-map', [change('changed: { spec.replicas: 3 }', 'changed: [spec.replicas]', 'changed: [')]],
  ['changed-space', [change('spec.replicas, spec.template', '[spec.replicas, spec.template]')]],
  [
    'labels-template',
    [
      change(
        'labels: { team: "{{ labels.team }}" }',
        'message: { fields: { team: "{{ event.regarding.labels.team }}" } }',
        'message: { fields',
      ),
    ],
  ],
  [
    'group-alertmanager',
    [
      change(
        'group_by: [namespace]\n    group_wait: 30s',
        'group: { by: [namespace], wait: 30s }',
        'group: { by }',
      ),
    ],
  ],
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
        'reason, next to "regarding"',
      ),
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
  ['severity-list', [change('severity: [error, warning]', 'severity: error', 'must be error')]],
  ['count-number', [change('count: 10', 'count: [10]', 'count: [')]],
  ['for-map', [change('{ minutes: 2 }', '2m')]],
  ['throttle-limit', [change('interval', 'every'), change('limit', 'burst')]],
  ['age-plain', [change('age: 10m', 'age: "<10m"', '"<10m"')]],
  [
    'condition-text',
    [change('condition: Ready', 'condition: { type: Ready, becomes: "False" }', 'condition: { type: Ready')],
  ],
  [
    'to-state-nested',
    [change('to-state: { status: { phase: Failed } }', 'to-state: { status.phase: Failed }')],
  ],
  ['severity-critical', [change('critical', 'error', 'must be error')]],
  [
    'when-manager',
    [change(', manager: "kubectl*" }', ' }, if: event.manager.startsWith("kubectl")', 'if: event.manager')],
  ],
  ['mute-timezone', [change('Europe/Berln', 'Europe/Berlin')]],
  ['for-long', [change('2 minutes', '2m')]],
  ['throttle-unit', [change('10min', '10m')]],
  ['stop', [change('stop: true', 'continue: false', 'continue')]],
  [
    'template-go',
    [
      change('.InvolvedObject.Name', 'event.regarding.name', 'write event.regarding.name'),
      change('.Message', 'event.message', 'write event.message'),
    ],
  ],
  ['debounce', [change('debounce: 30s', 'debounce: { quiet: 30s }')]],
  [
    'when-field',
    [
      change(', status.phase: Failed }', ' }', 'next to "when"'),
      change(
        'to: [screen]',
        'if: object.status.phase == "Failed"\n    to: [screen]',
        'if: object.status.phase == …',
      ),
    ],
  ],
  [
    'when-status',
    [
      change(', status: { phase: Failed } }', ' }', 'next to "when"'),
      change('to: [screen]', 'if: object.status.phase == "Failed"\n    to: [screen]', 'if: object.… == …'),
    ],
  ],
  [
    'when-comparison',
    [
      change('{ status.phase == Failed }', '{}', 'next to "when"'),
      change(
        'to: [screen]',
        'if: object.status.phase == "Failed"\n    to: [screen]',
        'if: object.status.phase == …',
      ),
    ],
  ],
  [
    'reason-of-container',
    [
      change('CrashLoopBackOff', 'BackOff', 'write BackOff'),
      change('ErrImagePull', 'Failed', 'write Failed'),
      change('FailedSchedulin', 'FailedScheduling', '"FailedScheduling"'),
      change('Backoff', '/^Backoff$/', 'write /^Backoff$/'),
    ],
  ],
  [
    'other-name-of-type',
    [
      change('type: msteams', 'type: teams', 'write type: teams'),
      change('type: opensearch', 'type: elasticsearch', 'write type: elasticsearch'),
    ],
  ],
])('%s checks clean when it is mended as it is told: %j', async (name, changes) => {
  let text = readFileSync(`${FOLDER}${name}.yaml`, 'utf8')
  const loaded = await loadText(text)
  const hints = (loaded.ok ? loaded.warnings : loaded.problems)
    .map((it) => `${it.message} ${it.hint}`)
    .join('\n')
  for (const { from, to, written } of changes) {
    expect(hints).toContain(written)
    expect(text).toContain(from)
    text = text.replace(from, () => to)
  }
  expect(await problemsOf(text)).toEqual([])
})

const rule = (keys: string, kind = 'Node') =>
  withRules(`  - { name: r, when: { kind: ${kind} }, ${keys}, to: screen }`, `[${kind}]`)
const included = (include: string) =>
  `include: ${include}\nwatch: [Node, Event]\nsinks: { chat: { type: stdout } }\nrules: [{ name: all, to: chat }]`

test.each([
  [rule('from: { status.a: "<1.5" }'), 'if: oldObject.status.?a.orValue(0) < 1.5, changed: status.a'],
  [rule('to-state: { spec.a.b: " >= -2" }'), 'if: object.spec.?a.?b.orValue(0) >= -2, changed: spec.a.b'],
  [rule('to-state: { status.a: "==3" }'), '"3"', '"==3"'],
  [rule('from: { "status.a[0].b": "!= 3" }'), '"!3"', '"!= 3"'],
  [rule('condition: { type: Ready, becomes: NotReady }'), 'becomes: "False"', 'becomes: NotReady'],
  [rule('changed: "spec.a, spec.b"'), '[spec.a, spec.b]', '"spec.a, spec.b"'],
  [rule('changed: ["spec.a, spec.b", spec.c]'), 'spec.a, spec.b', '"spec.a, spec.b"'],
  [
    rule('group_by: [kind], group: { wait: 5s }'),
    'group: { by }',
    'group_by: [kind], group: {',
    'group: { by: [kind],',
  ],
  [rule('severity: warn'), '"warning"', 'warn'],
  [rule('continue: yes'), 'true', 'yes'],
  [rule('throttle: 1h30m'), 'throttle: { every: 90m }', 'throttle: 1h30m'],
  [rule('debounce: "2 minutes"'), 'debounce: { quiet: 2m }', 'debounce: "2 minutes"'],
  [rule('continue: Off'), 'false', 'Off'],
  [
    included('kubeherald:nodes'),
    'include: [{ from: kubeherald:nodes, to: chat }]',
    'include: kubeherald:nodes',
  ],
  [included('[kubeherald:nodes]'), '{ from: kubeherald:nodes, to: chat }', 'kubeherald:nodes'],
  [included('[{ from: kubeherald:nodes }]'), 'to: chat', 'nodes }', 'nodes, to: chat }'],
])('%s checks clean with its hint %s', async (text, hint, from = '', to = hint) => {
  expect((await problemsOf(text)).join().replace(', with changed:', ', changed:')).toContain(hint)
  expect(text).toContain(from)
  expect(await problemsOf(text.replace(from || /(from|to-state): \{.*?\}/, () => to))).toEqual([])
})

test.each([
  rule('to-state: { "status.a[0]": "<3" }'),
  rule('to-state: { status.a: "<3" }, changed: status'),
  rule('from: { status.a: ">3" }, to-state: { status.a: "<3" }'),
])('no expression is suggested where it could not be added: %s', async (text) => {
  expect(await problemsOf(text)).toContainEqual(expect.stringMatching(/= compare numbers in "if"$/))
})

test('a path with a comma is not to become a key that is a list', async () => {
  expect(await problemsOf(rule('to-state: { "spec.a,spec.b": x }'))).toEqual([
    expect.stringContaining('= write a key for each'),
  ])
})

test.each([
  ['watch: [{ kind: Event, type: Warning }]', 'type'],
  ['watch: [{ kind: Event, resource: pods }]', 'resource'],
  [rule('throttle: { every: 5m, interval: 3m }'), 'interval'],
  [rule('sink: screen'), 'sink'],
  [rule('if: "true"').replace('kind: Node', 'manager: x'), 'manager'],
  [`defaults: { kind: Pod }\n${rule('if: "true"')}`, 'kind'],
  [`defaults: { match: { kind: Pod } }\n${rule('if: "true"')}`, 'match'],
  ['sinks: { group: { type: stdout } }\nrules: [{ name: a, to: [{ group: { per: x } }] }]', 'per'],
])('%s has no key in place of "%s"', async (text, key) => {
  const found = (await problemsOf(text)).filter((it) => it.includes(`unknown key "${key}"`))
  expect(found).toHaveLength(1)
  expect(found[0]).not.toContain('here it is')
})

test.each([
  ['when: { synthesized: "yes" }', '"synthesized" must be true or false, not text = write true'],
  ['throttle: 5', '= such as throttle: { '],
])('%s has an example only of that key', async (keys, expected) => {
  const text = withRules(`  - { name: r, ${keys}, to: screen }`)
  expect(await problemsOf(text)).toEqual([expect.stringContaining(expected)])
})

test('a sink without options has the example of a sink', async () => {
  const text = 'watch: [Pod]\nsinks: { a: hello }\nrules: [{ name: r, to: a }]'
  expect(await problemsOf(text)).toEqual([
    expect.stringContaining('= such as sinks: { oncall: { type: slack'),
  ])
})

test('messages of built-in sinks quote no value, and are shown as they are', async () => {
  const sinks = `
  w: { type: webhook, preset: google, url: secret.example/pass, timeout: '120' }
  k: { type: kafka, brokers: [secret-host], sasl: { mechanism: scram-sha, username: u, password: p }, topic: t }`
  const found = (await problemsOf(`watch: [Pod]\nsinks:${sinks}\nrules: [{ name: r, to: [w, k] }]`)).join()
  for (const part of ['google-chat', 'scram-sha-256', '120ms', 'https://example.com', ':9092'])
    expect(found).toContain(part)
  expect(found).not.toMatch(/\*\*\*|secret/)
})

test('a watch is not to be narrowed so that a rule that drops has nothing to drop', async () => {
  const rules = (namespace: string) =>
    withRules(
      `  - { name: b, when: { namespace: ${namespace} }, drop: true }\n  - { name: a, when: { namespace: shop }, to: screen }`,
      '[Pod]',
    )
  const widthOf = async (text: string) => {
    const loaded = await loadText(text)
    return loaded.ok ? checkBroadWatches(loaded.document) : loaded.problems
  }
  expect(await widthOf(rules('payments'))).toEqual([])
  expect(await widthOf(rules('shop'))).toHaveLength(1)
})

test.each(Object.entries(PRESETS))(
  'a sink of type %s is the preset of a webhook',
  async (preset, { example }) => {
    const names = [...example.matchAll(/\$\{env:(\w+)\}/g)].map(([, name = '']) => name)
    const env = Object.fromEntries(
      names.map((it) => [it, it.endsWith('_URL') ? 'https://example.com/x' : 'x1']),
    )
    const withSink = (sink: string) => `watch: [Pod]\nsinks: { a: ${sink} }\nrules: [{ name: a, to: a }]`
    for (const type of [`type: ${preset}`, `type: webhook, preset: ${preset}`]) {
      const loaded = await loadText(withSink(example.replace(`type: ${preset}`, type)), { env })
      expect(loaded).toMatchObject({ ok: true, warnings: [] })
    }
  },
)

test('a variable as shells write it is told, and not repeated: it may be a password', async () => {
  const text = (token: string) =>
    `watch: [Pod]\nsinks: { a: { type: webhook, url: "https://x/y", auth: { bearer: ${token} } } }\nrules: [{ name: a, to: a }]`
  for (const token of ['$TOKEN', '$(TOKEN)']) {
    const [warning = ''] = await problemsOf(text(token))
    expect(warning).toContain('${env:NAME}')
    expect(warning).not.toContain('TOKEN')
  }
  expect(await problemsOf(text('$token-9'))).toEqual([])
})
