import { expect, test } from 'vitest'
import { checkedProgram } from '../../../src/rules/cel/check.ts'

/** Each fault as `what is underlined: message (hint)`. */
function faultsOf(text: string): string[] {
  const result = checkedProgram(text)
  if (result.ok) return []
  return result.faults.map(({ message, hint, offset = 0, length = 0 }) => {
    return `${text.slice(offset, offset + length)} | ${message} | ${hint ?? ''}`
  })
}

const ROWS: [text: string, ...faults: string[]][] = [
  ['event.count == "3"', '"3" | an int and a string cannot be compared with "==" | write 3 without quotes'],
  ['event.reson == "BackOff"', 'reson | event has no field "reson" | did you mean "reason"?'],
  ['objct.spec.x > 1', 'objct | there is no variable "objct" | did you mean "object"?'],
  ['spec.replicas > 3', 'spec | there is no variable "spec" | write object.spec'],
  ['reason == "x"', 'reason | there is no variable "reason" | write event.reason'],
  ['event.type == ADDED', 'ADDED | there is no variable "ADDED" | a text stands in quotes: "ADDED"'],
  [
    'type == "ADDED"',
    'type | "type" is the function type() here | the change is event.type, Normal or Warning is event.eventType',
  ],
  ['event.type = "ADDED"', '= | "=" does not belong here | write "==" to compare, "!=" for not'],
  ['event.count === 3', '=== | "===" is no operator | write "=="'],
  ['event.count > 3 & event.count < 9', '& | "&" does not belong here | write "&&"'],
  ['event.count > 3 and true', 'and | "and" does not belong here | write "&&"'],
  [
    'object.a.every(c => c.image == ")" )',
    'object.a.every(c => c.image == ")" ) | "=>" is no operator | write object.a.all(c, c.image == ")")',
  ],
  [
    'object.a.find(c => c.name == "a").image == "b"',
    'object.a.find(c => c.name == "a") | "=>" is no operator | write object.a.filter(c, c.name == "a")[0]',
  ],
  [
    'object.spec?.a == null',
    'object.spec?.a == null | "?." is no operator | write !object.?spec.?a.hasValue(): "?" stands before the field that may be missing',
  ],
  [
    '3 < object.spec?.a',
    'object.spec?.a | "?." is no operator | write object.?spec.?a.orValue(0): "?" stands before the field that may be missing',
  ],
  [
    'object.spec.x == 1Gi',
    'object.spec.x == 1Gi | "1Gi" must be a quantity | write quantity(object.spec.x).compareTo(quantity("1Gi")) == 0',
  ],
  [
    '1Gi > object.spec.x',
    '1Gi > object.spec.x | "1Gi" must be a quantity | write quantity(object.spec.x).isLessThan(quantity("1Gi"))',
  ],
  ['object.x startsWith "a"', 'startsWith | "startsWith" does not belong here | write x.startsWith("…")'],
  ['not has(object.x)', 'not | "not" is no operator | write "!"'],
  ['object.x not in ["a"]', 'not | "not" does not belong here | write !(x in list)'],
  [
    'object?.x == 1',
    'object?.x | "?." is no operator | write object.?x.orValue(0): "?" stands before the field that may be missing',
  ],
  [
    'object.metadata.labels?.team == "a"',
    'object.metadata.labels?.team | "?." is no operator | write object.metadata.?labels.?team.orValue(""): "?" stands before the field that may be missing',
  ],
  [
    'object.spec?.a?.b && true',
    'object.spec?.a?.b | "?." is no operator | write object.?spec.?a.?b.orValue(false): "?" stands before the field that may be missing',
  ],
  [
    'object.list.some(c => c.name == "x")',
    'object.list.some(c => c.name == "x") | "=>" is no operator | write object.list.exists(c, c.name == "x")',
  ],
  ['event.message =~ "a"', 'event.message =~ "a" | "=~" is no operator | write event.message.matches("a")'],
  [
    'object.spec.memory <= 1Gi',
    'object.spec.memory <= 1Gi | "1Gi" must be a quantity | write !quantity(object.spec.memory).isGreaterThan(quantity("1Gi"))',
  ],
  [
    '(object.spec.replicas ?? 2) > 1',
    'object.spec.replicas ?? 2 | "??" is no operator | write object.spec.?replicas.orValue(2)',
  ],
  [
    'object.metadata.labels.team != undefined',
    'object.metadata.labels.team != undefined | there is no "undefined" to compare with | write has(object.metadata.?labels.team)',
  ],
  [
    'object.spec.x == nil',
    'object.spec.x == nil | there is no "nil" to compare with | write !has(object.spec.x)',
  ],
  [
    'has("metadata.labels.team")',
    '"metadata.labels.team" | "has()" takes a field, not a text | write object.metadata.?labels.team',
  ],
  [
    'event.message.includes("oom")',
    'includes | there is no method "includes" | write event.message.contains("oom")',
  ],
  [
    'event.message.length > 3',
    'event.message.length | a string has no field "length" | write event.message.size()',
  ],
  [
    'quantity(object.spec.a) >= "1Gi"',
    'quantity(object.spec.a) >= "1Gi" | a Quantity and a string cannot be compared with ">=" | write !quantity(object.spec.a).isLessThan(quantity("1Gi"))',
  ],
  ['obj.spec.x == 1', 'obj | there is no variable "obj" | did you mean "object"?'],
  ['foo.spec == 1', 'foo | there is no variable "foo" | there are object, oldObject, event, cluster, now'],
  ['event.x?.foo("a")', '?. | "?." is no operator | write x.?field, with .orValue(…) behind it'],
  ['object.a == {{ x }}', '{{ x }} | an expression stands without {{ }} | write x'],
  ["event.reason in 'a, b'", `'a, b' | "in" needs a list on its right, and not a text | write ["a", "b"]`],
  ['object.list.some(c, c.x)', 'some | there is no method "some" | write list.exists(it, …)'],
  ['len(object.x) > 3', 'len | there is no function "len" | write size(x)'],
  [
    'event.reason.startswith("x")',
    'startswith | there is no method "startswith" | did you mean "startsWith"?',
  ],
  [
    'contains(event.reason, "x")',
    'contains | there is no function "contains" | write it as string.contains(string)',
  ],
  [
    'event.reason.matches(3)',
    'matches | there is no matches(int) of a string | there is string.matches(string)',
  ],
  [
    'event.message.matches("^(?!x)")',
    '(?! | has a look-ahead "(?!", which RE2 regular expressions do not have | ',
  ],
  [
    'object.name.matches("a(b") && matches(event.reason, "[")',
    '( | has an expression that RE2 cannot read: missing closing ) | ',
    '[ | has an expression that RE2 cannot read: missing closing ] | ',
  ],
  [
    'event.count',
    'event.count | gives an int, and a condition is true or false | compare it, such as event.count > 3',
  ],
  [
    'has(object)',
    'object | "has()" takes a field | write has(object.spec.replicas); for a key: object.metadata.?labels[?"a/b"].hasValue()',
  ],
  ['object.x[', '[ | ends too early | a "]" is missing'],
  ['(event.count > 3', '3 | ends too early | a ")" is missing'],
  ['event.count > 3)', ') | ")" does not belong here | it closes nothing'],
  ['event.reason == "x', '" | has a text without its closing quote | close it: "x"'],
  [
    'event.count + 1.5 > 2.0',
    'event.count + 1.5 | an int and a double cannot be used with "+" | double(x) makes a double of an int',
  ],
  [
    'now > "2026"',
    'now > "2026" | a timestamp and a string cannot be compared with ">" | timestamp("2026-01-01T00:00:00Z") makes a time of a text',
  ],
  [
    'quantity("1") > quantity("2")',
    'quantity("1") > quantity("2") | a Quantity and a Quantity cannot be compared with ">" | write quantity("1").isGreaterThan(quantity("2"))',
  ],
  ['namespace == "x"', 'namespace | "namespace" is a reserved word | write event.namespace'],
  [
    'object.metadata.?labels.?app == "x"',
    'object.metadata.?labels.?app | a value that may be missing and a string cannot be compared with "==" | write object.metadata.?labels.?app.orValue(""), or another value for what is not there',
  ],
  [
    '3 < object.spec.?replicas',
    'object.spec.?replicas | an int and a value that may be missing cannot be compared with "<" | write object.spec.?replicas.orValue(0), or another value for what is not there',
  ],
  [
    'object.spec.?a != null',
    'object.spec.?a != null | a value that may be missing and a null cannot be compared with "!=" | write object.spec.?a.hasValue()',
  ],
  [
    'object.spec.?paused && true',
    'object.spec.?paused && true | "&&" and "||" take true or false, and one side is a value that may be missing | write object.spec.?paused.orValue(false); object.spec.?paused.hasValue() tells whether it is there',
  ],
  [
    'object.spec.?a.startsWith("x")',
    'startsWith | there is no startsWith(string) of a value that may be missing | write object.spec.?a.orValue("") instead of object.spec.?a; of a list orValue([])',
  ],
  [
    'object.?status.?conditions.exists(c, c.type == "Ready")',
    'conditions.exists | "exists" works on lists, and this may be none | write .orValue([]) before .exists(…)',
  ],
  [
    'object.metadata.labels.app.kubernetes.io/name == "x"',
    'object.metadata.labels.app.kubernetes.io/name | a path with a key that has "-", "." or "/" needs brackets and quotes | write object.metadata.?labels[?"app.kubernetes.io/name"].orValue("")',
  ],
  [
    'object.metadata.labels.my-app == "x"',
    'object.metadata.labels.my-app | a path with a key that has "-", "." or "/" needs brackets and quotes | write object.metadata.?labels[?"my-app"].orValue("")',
  ],
  ['cluster == prod-eu', 'prod-eu | there is no variable "prod" | a text stands in quotes: "prod-eu"'],
  [
    'event.owner == "Deployment/web"',
    'event.owner == "Deployment/web" | an Owner and a string cannot be compared with "==" | write event.owner.kind == "…" && event.owner.name == "…"',
  ],
  [
    'event.reason == ["a", "b"]',
    'event.reason == ["a", "b"] | a string and a list<string> cannot be compared with "==" | write x in ["a", "b"] for one of several',
  ],
  [
    'event.reason == "a" || "b"',
    'event.reason == "a" || "b" | "&&" and "||" take true or false, and one side is a string | compare each side: x == "a" || x == "b"; or one with several: x in ["a", "b"]',
  ],
  [
    'object.spec.memory > 1Gi',
    'object.spec.memory > 1Gi | "1Gi" must be a quantity | write quantity(object.spec.memory).isGreaterThan(quantity("1Gi"))',
  ],
  [
    'object.spec.cpu > 500m',
    'object.spec.cpu > 500m | "500m" must be a quantity | write quantity(object.spec.cpu).isGreaterThan(quantity("500m"))',
  ],
  [
    'quantity(object.x).isLessThan("1Gi")',
    'isLessThan | there is no isLessThan(string) of a Quantity | quantity("1Gi") makes a quantity of a text',
  ],
  ['', ' | is empty | write a condition, such as object.spec.replicas > 3'],
  [
    'event.count == "3" && event.reson == "x" && (foo == 1 || size(3) > 2)',
    '"3" | an int and a string cannot be compared with "==" | write 3 without quotes',
    'reson | event has no field "reson" | did you mean "reason"?',
    'foo | there is no variable "foo" | a text stands in quotes: "foo"; there are object, oldObject, event, cluster, now',
    'size | there is no size(int) | there is size(string), size(bytes), size(list<dyn>), size(map<dyn, dyn>)',
  ],
]

test.each(ROWS)('%s', (text, ...faults) => {
  expect(faultsOf(text)).toEqual(faults)
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
