import { expect, test } from 'vitest'
import { loadText, withRules } from './load-text.ts'

/** Each as `what is underlined: message = hint`. */
async function doubts(
  text: string,
  when = '{ kind: [Event, Pod, Deployment] }',
  watch = '[Event, Pod, Deployment]',
): Promise<string[]> {
  const rules = `  - name: a\n    when: ${when}\n    if: |\n      ${text}\n    to: screen\n`
  const loaded = await loadText(withRules(rules, watch))
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded.warnings.map(({ severity, line, column, length = 0, message, hint }) => {
    expect([severity, line]).toEqual(['warning', 7])
    return `${text.slice(column - 7, column - 7 + length)}: ${message} = ${hint}`
  })
}

const A_LABEL = 'not all have this label, and without it the rule ends in an error'
const A_TIME = 'times in objects are texts, and a text and a timestamp end in an error'
const A_DOUBLE = 'a whole number is an int here, and an int with a double ends in an error'

test.each([
  [
    'event.type == "Warning"',
    'event.type: event.type is never "Warning" = Normal and Warning are event.eventType',
  ],
  [
    'event.type in ["ADDED", "added"]',
    '"added": event.type is never "added" = it is ADDED, MODIFIED, DELETED',
  ],
  [
    '"ADDED" != event.eventType',
    'event.eventType: event.eventType is never "ADDED" = ADDED, MODIFIED, DELETED are event.type',
  ],
  ['event.kind == "pods"', '"pods": no built-in kind is called "pods" = write "Pod"'],
  ['object.spec.replicas == "3"', '"3": "3" is a text, and the field a number = write 3 without quotes'],
  [
    'object.spec.rank > "3"',
    '"3": "3" is a text: texts are compared letter by letter, and a number with a text ends in an error = write 3 without quotes; where the field is a text, too, int(object.spec.rank)',
  ],
  [
    'object.spec.replicas * 1.5 > 3.0',
    `object.spec.replicas: ${A_DOUBLE} = write double(object.spec.replicas)`,
  ],
  [
    'object.spec.limits.memory > "1Gi"',
    'object.spec.limits.memory > "1Gi": "1Gi" is compared as a text, letter by letter = write quantity(object.spec.?limits.?memory.orValue("0")).isGreaterThan(quantity("1Gi"))',
  ],
  [
    '"500m" >= object.spec.cpu',
    '"500m" >= object.spec.cpu: "500m" is compared as a text, letter by letter = write !quantity(object.spec.cpu).isGreaterThan(quantity("500m"))',
  ],
  [
    'object.status.conditions.exists(c, c.type == "Ready" && c.status == true)',
    'true: the status of a condition is a text, and never equal to true or false = write "True", "False" or "Unknown" in quotes',
  ],
  [
    'now - object.metadata.creationTimestamp > duration("1h")',
    `object.metadata.creationTimestamp: ${A_TIME} = write timestamp(object.metadata.creationTimestamp)`,
  ],
  [
    'object.spec.containers.image == "nginx"',
    'object.spec.containers.image == "nginx": containers is a list, and has no field "image" = write object.spec.containers.exists(it, it.image == "nginx")',
  ],
  [
    'object.metadata.name != "web-*"',
    'object.metadata.name != "web-*": "web-*" is compared as it stands: "!=" knows no globs = write !object.metadata.name.startsWith("web-")',
  ],
  [
    '"object.status.phase" == "Failed"',
    '"object.status.phase": "object.status.phase" is a text, and not the field = write object.status.phase without quotes',
  ],
  [
    'object.status.readyReplicas < 1',
    'object.status.readyReplicas: while it is 0, the object has no "readyReplicas", and the rule ends in an error = write object.status.?readyReplicas.orValue(0)',
  ],
  [
    'has(object.metadata.labels.team)',
    'object.metadata.labels.team: not every object has labels, and without them the rule ends in an error = write has(object.metadata.?labels.team)',
  ],
  [
    'event.name == "*oom*"',
    'event.name == "*oom*": "*oom*" is compared as it stands: "==" knows no globs = write event.name.contains("oom")',
  ],
  [
    'object.spec.containers.exists(it, it.image == "web:*")',
    'it.image == "web:*": "web:*" is compared as it stands: "==" knows no globs = write it.image.startsWith("web:")',
  ],
  [
    'object.metadata.name in ["a", "*-canary"]',
    'object.metadata.name in ["a", "*-canary"]: "*-canary" is compared as it stands: "in" knows no globs = write (object.metadata.name == "a" || object.metadata.name.endsWith("-canary"))',
  ],
  [
    'object.spec.cpu <= "500m"',
    'object.spec.cpu <= "500m": "500m" is compared as a text, letter by letter = write !quantity(object.spec.cpu).isGreaterThan(quantity("500m"))',
  ],
  [
    'event.reason in ["BackOff, Failed", "Killing", "Fail*"]',
    'event.reason in ["BackOff, Failed", "Killing", "Fail*"]: "BackOff, Failed" is one text = write (event.reason in ["BackOff", "Failed", "Killing"] || event.reason.startsWith("Fail"))',
  ],
  [
    'object.spec.keys["x-y"] == null',
    'object.spec.keys["x-y"] == null: a field that is not there is no null: the rule ends in an error = write !object.spec.keys[?"x-y"].hasValue()',
  ],
  [
    'object.metadata.labels.team != null',
    'object.metadata.labels.team != null: a field that is not there is no null: the rule ends in an error = write has(object.metadata.?labels.team)',
  ],
  [
    'object.spec.containers.length > 3',
    'object.spec.containers.length: containers is a list, and has no field "length" = write object.spec.containers.size()',
  ],
  [
    'object.data.limit > "5"',
    '"5": "5" is a text: texts are compared letter by letter = write int(object.data.limit), and 5 without quotes',
  ],
  [
    'event.reason in ["BackOff, Failed"]',
    'event.reason in ["BackOff, Failed"]: "BackOff, Failed" is one text = write event.reason in ["BackOff", "Failed"]',
  ],
  [
    'object.status.phase != "Failed, Unknown"',
    'object.status.phase != "Failed, Unknown": "Failed, Unknown" is one text = write !(object.status.phase in ["Failed", "Unknown"])',
  ],
  [
    'object.spec.nodeName == null',
    'object.spec.nodeName == null: a field that is not there is no null: the rule ends in an error = write !has(object.spec.nodeName)',
  ],
  [
    'event.namespaceLabels.env == "prod" || event.namespaceLabels.env == "live"',
    `event.namespaceLabels.env: ${A_LABEL} = write event.namespaceLabels.?env.orValue("")`,
  ],
  [
    'event.regarding.labels["a/b"] == "x"',
    `event.regarding.labels["a/b"]: ${A_LABEL} = write event.regarding.labels[?"a/b"].orValue("")`,
  ],
])('%s is doubted', async (text, said) => {
  expect(await doubts(text)).toEqual([said])
})

test('what is written instead is not doubted', async () => {
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
  for (const text of texts) expect(await doubts(text)).toEqual([])
})

test.each([
  ['{ kind: Pod, labels: team=shop }', 'object.metadata.labels.team == "shop"'],
  ['{ kind: Pod, labels: "!old, team in (a, b)" }', 'object.metadata.labels["team"] == "a"'],
  ['{ kind: Pod, annotations: { a/b: "*" } }', 'object.metadata.annotations["a/b"] == "1"'],
  ['{ kind: Pod, namespaceLabels: { env: [prod, live] } }', 'event.namespaceLabels.env == "prod"'],
  ['{ kind: Event, regarding: { labels: team } }', 'event.regarding.labels.team == "a"'],
])('%s asks for the label that %s reads', async (when, text) => {
  expect(await doubts(text, when, when.includes('Event') ? '[Event]' : '[Pod]')).toEqual([])
})

test.each([
  ['{ kind: Pod, labels: team!=shop }', 'object.metadata.labels.team == "shop"'],
  ['{ kind: Pod, labels: { team: "!shop" } }', 'object.metadata.labels.team == "shop"'],
  ['{ kind: Pod, labels: app=web }', 'object.metadata.labels.team == "shop"'],
])('%s does not ask for the label that %s reads', async (when, text) => {
  expect(await doubts(text, when, '[Pod]')).toHaveLength(1)
})

test('the object before is doubted where there may be none', async () => {
  const text = 'oldObject.spec.replicas != object.spec.replicas'
  const said = [
    'oldObject: an ADDED has no oldObject, and the rule ends in an error = write oldObject != null && …, or when: { type: MODIFIED }',
  ]
  expect(await doubts(text)).toEqual(said)
  expect(await doubts(text, '{ kind: [Event, Pod, Deployment], type: [ADDED, MODIFIED] }')).toEqual(said)
  for (const type of ['MODIFIED', '[MODIFIED, DELETED]', '"!ADDED"'])
    expect(await doubts(text, `{ kind: [Event, Pod, Deployment], type: ${type} }`)).toEqual([])
})

test('what is doubted is told beside an error in the same expression', async () => {
  const text = 'now - object.metadata.creationTimestamp > duration("5min")'
  const loaded = await loadText(
    withRules(`  - name: a\n    when: { kind: Pod }\n    if: ${text}\n    to: screen\n`),
  )
  const problems = loaded.ok ? [] : loaded.problems
  expect(problems.map(({ severity, column }) => `${severity} ${column}`)).toEqual(
    expect.arrayContaining(['error 60', 'warning 15']),
  )
})

test.each([
  ["object.metadata.labels.team == 'x'", "write object.metadata.?labels.?team.orValue('')"],
  ["object.metadata.name == 'web-*'", "write object.metadata.name.startsWith('web-')"],
  ['object.spec.a > 1Gi', "write quantity(object.spec.a).isGreaterThan(quantity('1Gi'))"],
])('what is offered for %s can stand in its double quotes', async (text, offered) => {
  const rules = `  - name: a\n    when: { kind: Pod }\n    if: "${text}"\n    to: screen\n`
  const loaded = await loadText(withRules(rules, '[Pod]'))
  const [said] = loaded.ok ? loaded.warnings : loaded.problems
  expect(said?.hint).toContain(offered)
  expect(said?.hint?.slice(0, offered.length)).not.toContain('"')
})

test('a comma in a text of several lines is not said to end it', async () => {
  const rules = '  - name: a\n    when:\n      labels: >-\n        a in (b,\n        c\n    to: screen\n'
  const loaded = await loadText(withRules(rules))
  const problems = loaded.ok ? [] : loaded.problems
  expect(problems.map(({ hint }) => hint)).toEqual([expect.stringContaining('a selector looks like')])
})
