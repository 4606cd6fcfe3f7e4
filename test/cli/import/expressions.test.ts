import { RE2JS } from 're2js'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { convert, type ToolName } from '../../../src/cli/import/import.ts'
import { compilePatterns, type Patterns } from '../../../src/rules/pattern.ts'

/** The condition of the one rule that is made. */
async function whenOf(tool: ToolName, raw: object): Promise<Record<string, any>> {
  const { text, losses } = await convert(JSON.stringify(raw), 'it.yaml', tool)
  expect(losses.rules).toBe(0)
  const { rules } = parse(text)
  expect(rules).toHaveLength(1)
  return rules[0].when
}

const exporter = (route: object) =>
  whenOf('kubernetes-event-exporter', { route, receivers: [{ name: 'a', stdout: {} }] })

const botkube = (event: object) => {
  const config = { event: { types: ['error'], ...event }, resources: [{ type: 'v1/pods' }] }
  return whenOf('botkube', {
    sources: { s: { 'botkube/kubernetes': { enabled: true, config } } },
    communications: { g: { webhook: { enabled: true, url: 'https://a/b', bindings: { sources: ['s'] } } } },
  })
}

const TEXTS = [
  ...[
    'Liveness',
    'Liveness failed',
    'Liveness failed\n',
    'Liveness\nfailed',
    'Liveness: a\nb\n',
    'LivenessX',
  ],
  ...['a\nLiveness', '\n', '\na', 'a\n', 'a', 'Readiness failed', 'Readiness failed\nLiveness'],
]
const EXPRESSIONS = [
  ...['^Liveness', '^Liveness.*', '^Liveness.*$', '^Liveness$', '^(Liveness|a)$', 'Liveness.*$'],
  ...['.*', '^.*', '.*$', '^.*$', '^Liveness(.|\\n)*$', '(?s)^Liveness.*$'],
]

const found = (expression: string) => TEXTS.filter((it) => RE2JS.compile(expression).matcher(it).find())

/** Texts that a condition matches; without one it is not asked. */
function matched(patterns: Patterns | undefined): string[] {
  if (patterns === undefined) return TEXTS
  const test = compilePatterns(patterns)
  if (!test.ok) throw new Error(JSON.stringify(test.faults))
  return TEXTS.filter(test.value)
}

describe.each(EXPRESSIONS)('%s matches the same texts of several lines as in the source', (expression) => {
  test('as a message of kubernetes-event-exporter', async () => {
    const { message } = await exporter({ match: [{ message: expression, receiver: 'a' }] })
    expect(matched(message)).toEqual(found(expression))
  })

  test('as a message that kubernetes-event-exporter drops', async () => {
    const { message } = await exporter({
      routes: [{ drop: [{ message: expression }], match: [{ receiver: 'a' }] }],
    })
    const dropped = found(expression)
    expect(matched(message)).toEqual(TEXTS.filter((it) => !dropped.includes(it)))
  })

  test('as an annotation', async () => {
    const match = [{ annotations: { note: expression }, receiver: 'a' }]
    const { regarding } = await exporter({ match })
    expect(matched(regarding.annotations.note)).toEqual(found(expression))
  })

  test('as a message of Botkube', async () => {
    const { message } = await botkube({ message: { include: [expression] } })
    expect(matched(message)).toEqual(found(expression))
  })

  test('as a message that Botkube excludes', async () => {
    const { message } = await botkube({ message: { include: ['.*'], exclude: [expression] } })
    const excluded = found(expression)
    expect(matched(message)).toEqual(TEXTS.filter((it) => !excluded.includes(it)))
  })
})

test.each(['^web-.*$', '^web-.*', '^web-'])('%s is a glob where the text is a name', async (expression) => {
  const match = [{ namespace: expression, labels: { app: expression }, receiver: 'a' }]
  expect(await exporter({ match })).toMatchObject({
    namespace: 'web-*',
    regarding: { labels: { app: 'web-*' } },
  })
})
