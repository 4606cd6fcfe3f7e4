import { expect, test } from 'vitest'
import { openDesk } from '../cli.ts'
import { runHere } from '../here.ts'

const config = (tests: string) => `
watch: [Node]
sinks: { screen: { type: stdout, format: message } }
rules:
  - name: not-ready
    when: { kind: Node }
    condition: { type: Ready, becomes: "False", for: 2m }
    resolve: true
    to: screen
x-bad: &bad { kind: Node, name: w, status: { conditions: [{ type: Ready, status: "False" }] } }
x-good: &good { kind: Node, name: w, status: { conditions: [{ type: Ready, status: "True" }] } }
tests:
${tests}
`

async function run(tests: string) {
  using desk = openDesk()
  desk.write('kubeherald.yaml', config(tests))
  return await runHere(desk, 'test')
}

test('a step with a time alone lets time pass, and what it brings is expected at its place', async () => {
  const { stdout, stderr } = await run(`
  - name: told in between
    given: [*good, { at: 1m, object: *bad }, { at: 179s }, { at: 3m }, { at: 9m, object: *good }]
    expect: [{ none: true }, { suppressed: for }, { none: true }, { rule: not-ready, messages: 1 }, { notices: resolved }]
  - name: up to its end
    given: [*good, *bad, { at: 2m }]
    expect: { rule: not-ready }
  - name: not before
    given: [*good, *bad, { at: 1m }]
    expect: { none: true }
`)
  expect({ stderr, stdout }).toMatchObject({ stderr: '', stdout: expect.stringMatching(/\n3 passed/) })
})

test.each([
  ['[*good, { at: 5m }, { at: 1m }]', 'is before the time of the step above'],
  ['[*good, { at: soon }]', 'must be a time after the beginning'],
])('%s is refused', async (given, message) => {
  const { code, stderr } = await run(`  - { name: a, given: ${given}, expect: { none: true } }`)
  expect(code).toBe(2)
  expect(stderr).toMatch(new RegExp(`kubeherald\\.yaml:13:\\d+: .*${message}`))
})
