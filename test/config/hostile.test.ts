import { expect, test } from 'vitest'
import { formatProblems } from '../../src/config/problem.ts'
import { leastCpuMs } from '../cpu-time.ts'
import { loadFiles } from './include-text.ts'

/** Of the processor. Far more than any of them takes, and far less than what they would take unguarded. */
const MAX_CPU_MS = 5_000

const row = (count: number, line: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => line(i)).join('\n')
const text = (name: string, times: number) => name.repeat(times)

test.each([
  ['brackets in brackets', text('[', 5_000), 'this is nested deeper than 100 levels'],
  ['half a million of them', text('[', 500_000), 'more than 200000 YAML tokens'],
  ['maps in maps', text('{a: ', 20_000), 'deeper than 100 levels'],
  ['lists in lists on one line', text('- ', 5_000), 'deeper than 100 levels'],
  ['keys that are keys', text('? ', 5_000), 'deeper than 100 levels'],
  ['indentation', row(400, (i) => `${' '.repeat(i)}a:`), 'deeper than 100 levels'],
  ['more than a ConfigMap holds', text('#', 1_100_000), 'larger than 1 MiB'],
  ['commas', `[${text(',', 90_000)}]`, 'unexpected ,'],
  ['anchors', text('&a ', 60_000), 'at most one anchor'],
  ['duplicate keys', text('a:\n', 30_000), 'the key "a" appears twice in this map'],
  [
    'aliases to aliases',
    row(20, (i) => `x-${i}: &a${i} [${i ? text(`*a${i - 1},`, 9) : 'x'}]`),
    'its aliases expand to more than 100000 values',
  ],
  [
    'merge keys',
    `x-: &a {${row(1_000, (i) => ` k${i}: 1,`)} }\n${row(5_000, (i) => `x-${i}: {<<: *a}`)}`,
    'its aliases expand to more than 100000 values',
  ],
  [
    'variables of variables',
    `vars:\n${row(40, (i) => `  v${i}: "${i ? text(`\${var:v${i - 1}}`, 2) : 'xxxxxxxxxx'}"`)}`,
    'its variables expand to more than 4 MiB of text',
  ],
  [
    'lists of variables',
    `vars:\n${row(40, (i) => `  v${i}: [${i ? text(`"\${var:v${i - 1}}",`, 9) : 'x'}]`)}`,
    'its aliases expand to more than 100000 values',
  ],
  [
    'thousands of secrets that come from anchors',
    `x-:\n${row(6_000, (i) => `  k${i}: &a${i} secret-word-${i}`)}\nwatch: [Pod]\nsinks:\n${row(6_000, (i) => `  s${i}: { type: webhook, secret: *a${i} }`)}\nrules: 5`,
    '"rules" must be a list',
  ],
  [
    'a secret of many words',
    `vars: { a: "${row(60_000, (i) => `word-${i}`).replaceAll('\n', ' ')}" }\nredis: { password: "\${var:a}", x: 1 }`,
    'unknown key "x"',
  ],
  [
    'a path of blanks',
    `watch: [Pod]\nsinks: { a: { type: stdout } }\nrules: [{ name: r, to: a, changed: "${text(' ', 160_000)}" }, { name: s, to: a, changed: "${text('\\t', 160_000)}" }]`,
    '"changed"',
  ],
  [
    'thousands of watches',
    `watch:\n${row(5_000, (i) => `  - { kind: Pod, labels: "a=${i}" }`)}\nsinks: { a: { type: stdout } }\nrules: [{ name: r, to: a }]`,
    'Pod is watched twice',
  ],
  ['a row of variables', `vars:\n${row(20_000, (i) => `  v${i}: "\${var:v${i + 1}}"`)}`, 'in too long a row'],
  [
    'variables that are not there',
    `vars: {${row(9_000, (i) => ` v${i}: 1,`)} }\nx-: "${text('${var:w}', 9_000)}"`,
    'no variable "w"',
  ],
  [
    'defaults for a thousand rules',
    `defaults: { to: [${text('a,', 20_000)}] }\nwatch: [Pod]\nsinks: { a: { type: stdout } }\nrules:\n${row(1_000, (i) => `  - name: r${i}`)}`,
    'all files together have more than 250000 values',
  ],
  [
    'thousands of sinks that are nearly those that there are',
    `watch: [Pod]\nsinks:\n${row(2_000, (i) => `  sink-number-${i}: { type: stdout }`)}\nrules:\n${row(2_000, (i) => `  - { name: r${i}, to: [snik-nubmer-${i}x] }`)}`,
    'there is no sink "snik-nubmer-7x"',
  ],
  [
    'a word as long as a file',
    `watch: [Pod]\nsinks: { a: { type: stdout } }\nrules: [{ name: r, to: ${text('n', 900_000)}, ${text('k', 90_000)}: 1 }]`,
    'there is no sink "nnn',
  ],
  [
    'labels to count by',
    `watch: [Pod]\nsinks: { a: { type: stdout } }\nrules: [{ name: r, to: a, throttle: { every: 1m, per: [${text('labels.a, ', 40_000)}] } }]`,
    '"per" has more than 20 properties',
  ],
  [
    'a time zone as long as a file',
    `watch: [Pod]\nsinks: { a: { type: stdout } }\nrules: [{ name: r, to: a, mute: { timezone: ${text('k', 900_000)} } }]`,
    'is not a timezone',
  ],
])('%s end in a clear answer, soon', async (_, main, expected) => {
  let loaded: Awaited<ReturnType<typeof loadFiles>> | undefined
  const load = async () => {
    loaded = await loadFiles(main)
  }
  expect(await leastCpuMs(MAX_CPU_MS, load)).toBeLessThan(MAX_CPU_MS)
  if (!loaded || loaded.ok) throw new Error('it is good')
  expect(loaded.problems.map(({ message }) => message).join('\n')).toContain(expected)
  expect(formatProblems(loaded.problems, loaded.texts).length).toBeLessThan(200_000)
})

test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
  'a variable may be called %s without harm',
  async (name) => {
    const main = `vars: { ${name}: web }\nwatch: [Pod]\nsinks: { a: { type: stdout } }\nrules: [{ name: r, when: { name: "\${var:${name}}" }, to: a }]`
    const loaded = await loadFiles(main)
    const said = loaded.ok
      ? loaded.config.rules[0]?.when?.name
      : loaded.problems.map(({ message }) => message).join()
    expect(['web', `"${name}" cannot be a key`]).toContain(String(said).split(',')[0])
    const unknown = await loadFiles(main.replace(`{ ${name}:`, '{ other:'))
    expect(unknown.ok ? [] : unknown.problems.map(({ message }) => message)).toContain(
      `there is no variable "${name}"`,
    )
  },
)

test.each(['__proto__', 'constructor', 'toString', 'valueOf'])(
  'any word of a rule may be %s: it is told as any other word that is wrong',
  async (word) => {
    const main = `watch: [Pod, Event, ${word}]
sinks: { a: { type: stdout, format: ${word} }, b: { type: ${word} } }
rules:
  - { name: r1, ${word}: 1, to: ${word}, when: { ${word}: 1, kind: ${word}, type: ${word}, regarding: { ${word}: x } } }
  - { name: r2, if: "event.${word} && ${word}(1) && object.${word}.${word}()", to: a, throttle: { every: 1m, per: ${word} } }
  - { name: r3, to: a, message: "{% ${word} %}" }
  - { name: r4, to: a, message: "{% assign ${word} = name %}{{ ${word}.x }} {{ x | ${word} }} {{ event.${word} }}" }
  - { name: r5, to: a, severity: ${word}, onError: ${word}, for: ${word}, mute: { days: ${word}, timezone: ${word} } }
  - { name: r6, to: a, changed: [${word}.x, "metadata[${word}]"], group: { by: ${word}, ${word}: 2 }, condition: { ${word}: x } }
`
    const loaded = await loadFiles(main)
    if (loaded.ok) throw new Error('it is good')
    const told = loaded.problems.map(({ line, message, hint }) => `${line}: ${message} = ${hint}`)
    expect(told.join('\n')).not.toMatch(/native code|\[object|is not a function|undefined is/)
    for (const line of [2, 4, 5, 6, 7, 8, 9]) expect(told.some((it) => it.startsWith(`${line}:`))).toBe(true)
  },
)

test.each([
  ['the same', () => 'a in (b, c)'],
  ['others', (i: number) => `a in (b${i}, c)`],
])('2,000 rules by labels, all %s, are compared soon', async (_, labels) => {
  const rules = row(2_000, (i) => `  - { name: r${i}, when: { labels: "${labels(i)}" }, to: a }`)
  const main = `watch: [Pod]\nsinks: { a: { type: stdout } }\nrules:\n${rules}`
  const load = async () => expect((await loadFiles(main)).ok).toBe(true)
  expect(await leastCpuMs(2 * MAX_CPU_MS, load)).toBeLessThan(2 * MAX_CPU_MS)
})
