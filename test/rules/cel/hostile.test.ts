import { expect, test } from 'vitest'
import { checkedProgram } from '../../../src/rules/cel/check.ts'
import { leastCpuMs } from '../../cpu-time.ts'
import { evaluate, eventOf } from './evaluate.ts'

const numbers = Array.from({ length: 10_000 }, (_, i) => i)
const big = 'a'.repeat(400_000)
const nested = JSON.parse(`${'{"a":['.repeat(400)}1${']}'.repeat(400)}`) as object
const event = eventOf({
  type: 'MODIFIED',
  object: {
    x: numbers,
    big,
    half: `b${big.slice(200_000)}`,
    re: '^(a+)+$',
    many: numbers.map((i) => [i, i, i, i, i, i, i, i]),
    maps: numbers.map((i) => ({ constructor: i, a: i, b: [i, i] })),
    m: Object.fromEntries(numbers.map((i) => [`k${i}`, i])),
    nested,
  },
  old: { x: numbers, big, nested, many: numbers.map((i) => [i, i, i, i, i, i, i, i]) },
})

/** The library and the machine warm up with something else. */
const WARM = 'object.x.all(a, a >= 0) && object.big.matches("a") && now.getHours("Europe/Berlin") >= 0'

test.each([
  'object.x.all(a, object.x.all(b, a + b >= 0))',
  'object.x.all(a, object.x.all(b, object.x.all(c, true)))',
  'object.x.map(a, object.x.map(b, object.x)).size() > 0',
  'object.x.filter(a, object.x.exists_one(b, b == a)).size() == 3',
  '(object.x.all(a, object.x.all(b, true))) || true',
  'object.m.all(k, object.m.all(l, k != ""))',
  'object.x.all(a, object.m.size() > 3)',
  'object.x.all(a, object.big.contains(object.half))',
  'object.x.all(a, object.big.matches("^(a|b|c)*d$|e") || true)',
  'object.big.matches("(x+x+)+y|(a?){200}b")',
  'object.x.all(a, now.getHours("Europe/Berlin") >= 0)',
  'object.big.replace("", object.big).size() > 3',
  '[object.big, object.big, object.big].join(object.big).size() > 1',
  'cel.bind(a, object.x + object.x, cel.bind(b, a + a + a + a, cel.bind(c, b + b + b + b, (c + c + c + c).size() > 3)))',
  'object.x.all(a, object.x == oldObject.x)',
  'object.x.all(a, object.big.size() > 3)',
  'object.x.all(a, quantity("1Gi").isGreaterThan(quantity("1Mi")))',
  'object.x.all(a, url("https://x/y").getHost() == "x")',
  'object.x.all(a, [object.big].join(",") != "")',
  'object.x.all(a, "%s".format([object.big]) != "")',
  'object.x.all(a, object.x.indexOf(9999) == 9999)',
  'object.x.all(a, string(a).matches(string(a)))',
  'object.many == oldObject.many',
  'object.many == [[1]] || true',
  'object.maps == 1 || true',
])('ends soon, as an error: %s', async (text) => {
  attempt(WARM)
  expect(() => evaluate(text, event)).toThrow('it was stopped')
  expect(await leastCpuMs(50, () => attempt(text))).toBeLessThan(50)
})

test.each([
  ['true', 'object.x.all(a, a >= 0)'],
  ['true', 'object.x.exists(a, a == 9999)'],
  ['true', 'object.nested == oldObject.nested'],
  ['true', '[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, a + b < 20))'],
  ['true', 'object.half.matches("^ba+$")'],
  ['error', 'object.big.matches(object.re + "(")'],
  ['error', '[object.nested].sum() == 1'],
])('is answered with %s, soon: %s', async (answer, text) => {
  attempt(WARM)
  expect(attempt(text)).toBe(answer)
  expect(await leastCpuMs(50, () => attempt(text))).toBeLessThan(50)
})

test('to refuse a hostile expression takes no time', async () => {
  const texts = [
    `${'!'.repeat(19_000)}true`,
    '('.repeat(19_000),
    `event.reason.matches("${'(a{1,30}){1,30}'.repeat(9)}")`,
    `true${' || true'.repeat(2_200)}`,
  ]
  for (const text of texts) {
    checkedProgram(text)
    expect(await leastCpuMs(50, () => checkedProgram(text))).toBeLessThan(50)
  }
})

function attempt(text: string): string {
  try {
    return String(evaluate(text, event))
  } catch {
    return 'error'
  }
}

test('a large value is counted for every rule that reads it whole, and not for the first alone', () => {
  const large = eventOf({ type: 'ADDED', object: { many: numbers.map((i) => [i, i, i, i, i, i, i, i]) } })
  for (let i = 0; i < 9; i++) expect(() => evaluate('object.many == 1', large)).toThrow('it was stopped')
})
