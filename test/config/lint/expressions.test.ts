import { expect, test } from 'vitest'
import { loadText, withRules } from '../load-text.ts'

/** Returns the warnings of an `if` on line 7. */
async function findings(
  text: string,
  when = '{ kind: [Event, Pod, Deployment] }',
  watch = '[Event, Pod, Deployment]',
) {
  const rules = `  - name: a\n    when: ${when}\n    if: |\n      ${text}\n    to: screen\n`
  const loaded = await loadText(withRules(rules, watch))
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded.warnings.map(({ code, line, column, length = 0, hint }) => {
    expect(line).toBe(7)
    return { code, underlined: text.slice(column - 7, column - 7 + length), hint }
  })
}

test.each([
  ['event.type == "Warning"', 'event.type', 'event.eventType'],
  ['event.type in ["ADDED", "added"]', '["ADDED", "added"]', 'ADDED, MODIFIED, DELETED'],
  ['"ADDED" != event.eventType', 'event.eventType', 'event.type'],
  ['event.kind == "pods"', '"pods"', '"Pod"'],
  ['object.spec.replicas == "3"', '"3"', '3 without quotes'],
  ['object.spec.rank > "3"', '"3"', 'int('],
  ['object.spec.limits.memory > "1Gi"', 'object.spec.limits.memory > "1Gi"', 'quantity("1Gi")'],
  ['"500m" >= object.spec.cpu', '"500m" >= object.spec.cpu', 'quantity("500m")'],
  ['object.status.conditions.exists(c, c.type == "Ready" && c.status == true)', 'true', '"True"'],
  [
    'now - object.metadata.creationTimestamp > duration("1h")',
    'object.metadata.creationTimestamp',
    'timestamp(object.metadata.creationTimestamp)',
  ],
  ['object.metadata.creationTimestamp < now', 'object.metadata.creationTimestamp', 'timestamp('],
  [
    'object.spec.containers.image == "nginx"',
    'object.spec.containers.image == "nginx"',
    'list.exists(it, it.image == "…")',
  ],
  ['object.spec.containers.length > 3', 'object.spec.containers.length > 3', 'list.size()'],
  ['object.metadata.name != "web-*"', 'object.metadata.name != "web-*"', 'x.startsWith('],
  ['event.name == "*oom*"', 'event.name == "*oom*"', 'x.contains('],
  ['object.spec.containers.exists(it, it.image == "web:*")', 'it.image == "web:*"', 'x.startsWith('],
  ['object.metadata.name in ["a", "*-canary"]', 'object.metadata.name in ["a", "*-canary"]', 'x.endsWith('],
])('%s never holds at %s', async (text, underlined, hint) => {
  expect(await findings(text)).toEqual([
    { code: 'doubtful-expression', underlined, hint: expect.stringContaining(hint) },
  ])
})

test.each([
  [
    'object.status.readyReplicas < 1',
    'object.status.readyReplicas',
    'write object.status.?readyReplicas.orValue(0)',
  ],
  [
    'has(object.metadata.labels.team)',
    'object.metadata.labels.team',
    'write has(object.metadata.?labels.team)',
  ],
  [
    'object.metadata.labels.team == "a"',
    'object.metadata.labels.team',
    'write object.metadata.?labels.?team.orValue("")',
  ],
  [
    'object.metadata.annotations["a/b"] == "1"',
    'object.metadata.annotations["a/b"]',
    'write object.metadata.?annotations[?"a/b"].orValue("")',
  ],
  ['object.spec.keys["x-y"] == null', 'object.spec.keys["x-y"] == null', 'write !map[?"key"].hasValue()'],
  [
    'object.metadata.labels.team != null',
    'object.metadata.labels.team != null',
    'write has(object.metadata.?labels.team)',
  ],
  ['object.spec.nodeName == null', 'object.spec.nodeName == null', 'write !has(object.spec.nodeName)'],
  [
    'event.namespaceLabels.env == "prod" || event.namespaceLabels.env == "live"',
    'event.namespaceLabels.env',
    'write event.namespaceLabels.?env.orValue("")',
  ],
  [
    'event.regarding.labels["a/b"] == "x"',
    'event.regarding.labels["a/b"]',
    'write event.regarding.labels[?"a/b"].orValue("")',
  ],
])('%s fails where %s is missing', async (text, underlined, hint) => {
  expect(await findings(text)).toEqual([{ code: 'missing-field', underlined, hint }])
  if (hint.includes('map[')) return
  const fix = hint.replace('write ', '')
  const fixed = text.startsWith('has(') ? fix : text.replaceAll(underlined, () => fix)
  expect(await findings(fixed)).toEqual([])
})

test('a correct expression has no finding', async () => {
  const texts = [
    'event.type != "ADDED" && event.eventType == "Warning" && event.kind in ["Pod", "Widget"]',
    'object.spec.replicas == 3 && double(object.spec.replicas) * 1.5 > 3.0 && object.spec.replicas > 2.5',
    'quantity(object.spec.limits.memory).isGreaterThan(quantity("1Gi"))',
    'object.status.conditions.exists(c, c.status == "True") && object.spec.containers.size() > 1',
    'now - timestamp(object.metadata.creationTimestamp) > duration("1h")',
    'object.metadata.name.startsWith("web-") && object.spec.schedule == "*/5 * * * *"',
    'object.spec.rules.exists(r, r.host == "*.example.com") && object.rules[0].resources[0] == "pods/*"',
    'event.message != "a, b" && event.reason == "*"',
    'has(object.status.readyReplicas) && object.status.readyReplicas < 1 || object.status.?active.orValue(0) > 3',
    'has(object.metadata.labels) && has(object.metadata.labels.team) || has(object.metadata.?annotations.team)',
    '!has(object.spec.nodeName) || has(object.spec.x) && object.spec.x == null',
    'event.namespaceLabels.?env.orValue("") == "prod" || "env" in event.namespaceLabels && event.namespaceLabels.env == "a"',
    'has(event.regarding.labels.team) && event.regarding.labels.team == "x"',
    '"readyReplicas" in object.status && object.status.readyReplicas < 2',
    'event.namespaceLabels.exists(k, k == "env" && event.namespaceLabels[k] == "prod")',
    'event.namespaceLabels["kubernetes.io/metadata.name"] == "shop"',
    'object.status.ready == true && object.status.active == true',
    'object.spec.template.status == true && object.data.status == "on, off" && object.data.replicas == "3"',
    'object.data.exclude == "*_test.go" && object.rules.exists(r, r.resourceNames == ["app-*"])',
    'object.spec.rules[0].http.paths[0].path == "/api/.*" && object.metadata.labels.active == "1" || "x" in object.metadata.labels',
    'type(oldObject) != null_type && oldObject.spec.replicas != object.spec.replicas',
    'null != oldObject && oldObject.spec.replicas != object.spec.replicas',
    'oldObject == null || oldObject.spec.replicas != object.spec.replicas',
  ]
  for (const text of texts) expect(await findings(text)).toEqual([])
})

test.each([
  ['{ kind: Pod, labels: team=shop }', 'object.metadata.labels.team == "shop"'],
  ['{ kind: Pod, labels: "!old, team in (a, b)" }', 'object.metadata.labels["team"] == "a"'],
  ['{ kind: Pod, annotations: { a/b: "*" } }', 'object.metadata.annotations["a/b"] == "1"'],
  ['{ kind: Pod, namespaceLabels: { env: [prod, live] } }', 'event.namespaceLabels.env == "prod"'],
  ['{ kind: Event, regarding: { labels: team } }', 'event.regarding.labels.team == "a"'],
])('%s asks for the label that %s reads', async (when, text) => {
  expect(await findings(text, when, when.includes('Event') ? '[Event]' : '[Pod]')).toEqual([])
})

test.each([
  ['{ kind: Pod, labels: team!=shop }', 'object.metadata.labels.team == "shop"'],
  ['{ kind: Pod, labels: { team: "!shop" } }', 'object.metadata.labels.team == "shop"'],
  ['{ kind: Pod, labels: app=web }', 'object.metadata.labels.team == "shop"'],
])('%s does not ask for the label that %s reads', async (when, text) => {
  expect(await findings(text, when, '[Pod]')).toHaveLength(1)
})

test('the previous object is missing where the rule matches new objects', async () => {
  const text = 'oldObject.spec.replicas != object.spec.replicas'
  const of = (type: string) => findings(text, `{ kind: [Event, Pod, Deployment]${type} }`)
  const found = [
    { code: 'doubtful-expression', underlined: 'oldObject', hint: expect.stringContaining('null') },
  ]
  expect(await of('')).toEqual(found)
  expect(await of(', type: [ADDED, MODIFIED]')).toEqual(found)
  for (const type of ['MODIFIED', '[MODIFIED, DELETED]', '"!ADDED"'])
    expect(await of(`, type: ${type}`)).toEqual([])
})

test('warnings and errors of one expression are both reported', async () => {
  const text = 'now - object.metadata.creationTimestamp > duration("5min")'
  const loaded = await loadText(
    withRules(`  - name: a\n    when: { kind: Pod }\n    if: ${text}\n    to: screen\n`),
  )
  const problems = loaded.ok ? [] : loaded.problems
  expect(problems.map(({ severity, column }) => `${severity} ${column}`)).toEqual(
    expect.arrayContaining(['error 60', 'warning 15']),
  )
})

test('a comma in a text of several lines does not end it', async () => {
  const rules = '  - name: a\n    when:\n      labels: >-\n        a in (b,\n        c\n    to: screen\n'
  const loaded = await loadText(withRules(rules))
  const problems = loaded.ok ? [] : loaded.problems
  expect(problems.map(({ hint }) => hint)).toEqual([expect.stringContaining('a selector looks like')])
})
