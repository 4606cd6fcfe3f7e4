import { expect, test } from 'vitest'
import { checkedProgram } from '../../../src/rules/cel/check.ts'

function faultsOf(text: string) {
  const result = checkedProgram(text)
  return result.ok ? [] : result.faults
}

test.each<[text: string, ...underlined: string[]]>([
  ['event.count == "3"', '"3"'],
  ['event.reson == "BackOff"', 'reson'],
  ['objct.spec.x > 1', 'objct'],
  ['spec.replicas > 3', 'spec'],
  ['reason == "x"', 'reason'],
  ['event.type == ADDED', 'ADDED'],
  ['type == "ADDED"', 'type == "ADDED"'],
  ['event.type = "ADDED"', '='],
  ['event.count === 3', '==='],
  ['event.count > 3 & event.count < 9', '&'],
  ['event.count > 3 and true', 'and'],
  ['object.a.every(c => c.image == ")" )', '=>'],
  ['object.a.find(c => c.name == "a").image == "b"', '=>'],
  ['object.spec?.a == null', '?.'],
  ['3 < object.spec?.a', '?.'],
  ['object.spec.x == 1Gi', '1Gi'],
  ['1Gi > object.spec.x', '1Gi'],
  ['object.x startsWith "a"', 'startsWith'],
  ['not has(object.x)', 'not'],
  ['object.x not in ["a"]', 'not in'],
  ['object?.x == 1', '?.'],
  ['object.metadata.labels?.team == "a"', '?.'],
  ['object.spec?.a?.b && true', '?.'],
  ['object.list.some(c => c.name == "x")', '=>'],
  ['event.message =~ "a"', '=~'],
  ['object.spec.memory <= 1Gi', '1Gi'],
  ['(object.spec.replicas ?? 2) > 1', '??'],
  ['object.metadata.labels.team != undefined', 'undefined'],
  ['object.spec.x == nil', 'nil'],
  ['has("metadata.labels.team")', '"metadata.labels.team"'],
  ['event.message.includes("oom")', 'includes'],
  ['event.message.length > 3', 'length'],
  ['quantity(object.spec.a) >= "1Gi"', 'quantity(object.spec.a) >= "1Gi"'],
  ['obj.spec.x == 1', 'obj'],
  ['foo.spec == 1', 'foo'],
  ['event.x?.foo("a")', '?.'],
  ['object.a == {{ x }}', '}}'],
  [`event.reason in 'a, b'`, `event.reason in 'a, b'`],
  ['object.list.some(c, c.x)', 'some'],
  ['len(object.x) > 3', 'len'],
  ['event.reason.startswith("x")', 'startswith'],
  ['contains(event.reason, "x")', 'contains'],
  ['event.reason.matches(3)', 'matches'],
  ['event.message.matches("^(?!x)")', '(?!'],
  ['object.name.matches("a(b") && matches(event.reason, "[")', '(', '['],
  ['event.count', 'event.count'],
  ['has(object)', 'object'],
  ['object.x[', '['],
  ['(event.count > 3', '3'],
  ['event.count > 3)', ')'],
  ['event.reason == "x', '"'],
  ['event.count + 1.5 > 2.0', 'event.count + 1.5'],
  ['now > "2026"', 'now > "2026"'],
  ['quantity("1") > quantity("2")', 'quantity("1") > quantity("2")'],
  ['namespace == "x"', 'namespace'],
  ['object.metadata.?labels.?app == "x"', 'object.metadata.?labels.?app == "x"'],
  ['3 < object.spec.?replicas', '3 < object.spec.?replicas'],
  ['object.spec.?a != null', 'object.spec.?a != null'],
  ['object.spec.?paused && true', 'object.spec.?paused && true'],
  ['object.spec.?a.startsWith("x")', 'startsWith'],
  ['object.?status.?conditions.exists(c, c.type == "Ready")', '.?conditions.exists'],
  ['object.metadata.labels.app.kubernetes.io/name == "x"', 'object.metadata.labels.app.kubernetes.io/name'],
  ['object.metadata.labels.my-app == "x"', 'object.metadata.labels.my-app'],
  ['cluster == prod-eu', 'prod'],
  ['event.owner == "Deployment/web"', 'event.owner == "Deployment/web"'],
  ['event.reason == ["a", "b"]', 'event.reason == ["a", "b"]'],
  ['event.reason == "a" || "b"', 'event.reason == "a" || "b"'],
  ['object.spec.memory > 1Gi', '1Gi'],
  ['object.spec.cpu > 500m', '500m'],
  ['quantity(object.x).isLessThan("1Gi")', 'isLessThan'],
  ['', ''],
  ['now > timestamp("2026-01-01")', '"2026-01-01"'],
  ['now > timestamp("2026-01-01T00:00:00")', '"2026-01-01T00:00:00"'],
  ['now > timestamp("2026-13-01T00:00:00Z")', '"2026-13-01T00:00:00Z"'],
  ['now - duration("1d") > now', '"1d"'],
  ['now.getHours("Europe/Berln") < 8 || now.getDayOfWeek("8:00") == 0', '"Europe/Berln"', '"8:00"'],
  ['quantity(object.x).isLessThan(quantity("1GB"))', '"1GB"'],
  ['cidr("10.0.0.0").containsIP(ip("10.0.0"))', '"10.0.0.0"', '"10.0.0"'],
  ['event.count == "3" && event.reson == "x" && (foo == 1 || size(3) > 2)', '"3"', 'reson', 'foo', 'size'],
])('%s is wrong at %s', (text, ...underlined) => {
  const places = faultsOf(text).map(({ offset = 0, length = 0 }) => text.slice(offset, offset + length))
  expect(places).toEqual(underlined)
})

test.each([
  ['event.count == "3"', 'without quotes'],
  ['event.reson == "BackOff"', '"reason"'],
  ['spec.replicas > 3', 'object.spec'],
  ['reason == "x"', 'event.reason'],
  ['event.type == ADDED', '"ADDED"'],
  ['type == "ADDED"', 'event.type'],
  ['event.type = "ADDED"', '"=="'],
  ['event.count > 3 and true', '"&&"'],
  ['event.count > 3 or true', '"||"'],
  ['not has(object.x)', '"!"'],
  ['object.spec?.a == null', '.?field'],
  ['object.spec.x == 1Gi', 'quantity('],
  ['object.list.some(c => c.name == "x")', 'list.exists('],
  ['object.list.exists(c, (c) => c)', 'list.exists('],
  ['object.spec.replicas => 3', '">="'],
  ['(object.spec.replicas => 3)', '">="'],
  ['event.count =< 3', '"<="'],
  ['event.message.includes("oom")', 'x.contains('],
  ['event.message =~ "a"', 'x.matches('],
  ['namespace == "x"', 'event.namespace'],
  ['object.metadata.?labels.?app == "x"', '.orValue('],
  ['object.metadata.labels.app.kubernetes.io/name == "x"', '[?"app.kubernetes.io/name"]'],
  ['event.reason == "a" || "b"', 'x in ['],
  ['len(object.x) > 3', 'size(x)'],
  ['event.reason.startswith("x")', 'startsWith'],
])('of %s the hint has %s', (text, hint) => {
  expect(faultsOf(text)[0]?.hint).toContain(hint)
})

test.each([
  ['too many brackets', '('.repeat(60) + 'true' + ')'.repeat(60), 'is nested too deeply'],
  ['too long a chain', `object${'.a'.repeat(80)} == 1`, 'is nested too deeply'],
  ['too many operators', `true${' || true'.repeat(2_200)}`, 'is too long'],
  ['too many characters', `"${'x'.repeat(21_000)}" == ""`, 'is too long: at most 20,000 characters'],
  ['too many signs', `${'!'.repeat(19_000)}true`, 'is '],
  ['a huge list', `1 in [${'1,'.repeat(600)}1]`, 'has a list or map of more than 500 members'],
  [
    'a huge map',
    `size({${Array.from({ length: 600 }, (_, i) => `"${i}": 1`).join(',')}}) > 3`,
    'has a list or map of more than 500',
  ],
  ['an expression that repeats too much', `event.reason.matches("${'[a-z]{900}'.repeat(9)}")`, 'expression'],
  [
    'an expression that is too long',
    `event.reason.matches("${'a'.repeat(1_001)}")`,
    'more than 1000 characters',
  ],
])('is refused: %s', (_what, text, message) => {
  const result = checkedProgram(text)
  expect(result.ok ? '' : result.faults[0]?.message).toContain(message)
})

test.each([
  'now > timestamp("2026-01-01T00:00:00Z")',
  'now > timestamp("2026-01-01T02:00:00.5+02:00")',
  'now - timestamp(object.metadata.creationTimestamp) > duration("1h30m")',
  'now.getHours("Europe/Berlin") < 8 || now.getDayOfWeek("+01:00") == 0 || now.getMonth("UTC") == 1',
  'quantity(object.x).isLessThan(quantity("1.5Gi"))',
  'cidr("10.0.0.0/8").containsIP(object.status.podIP) && ip("::1").isLoopback()',
  'cidr("10.0.0.0/8").ip() == ip("10.0.0.0")',
])('%s is right', (text) => {
  expect(faultsOf(text)).toEqual([])
})
