import { expect, test } from 'vitest'
import { runHere } from './here.ts'
import { openProofDesk } from './proof-fixture.ts'

test('routes shows each rule with its conditions, limits and sinks', async () => {
  using desk = openProofDesk()
  const { code, stdout, stderr } = await runHere(desk, 'routes')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  await expect(stdout).toMatchFileSnapshot('../golden/routes/rules.txt')
})

test('routes as data has what ends the evaluation, the options of a rule for a sink, and unused sinks', async () => {
  using desk = openProofDesk()
  desk.write(
    'ends.yaml',
    `watch: [Event]
sinks: { chat: { type: slack, token: "\${env:TOKEN}", channel: "#a" }, spare: { type: stdout } }
rules:
  - { name: noise, when: { kind: Event, reason: "\${env:NOISE}" }, drop: true }
  - { name: last, to: [chat: { channel: "#b" }], continue: false }
`,
  )
  const { stdout } = await runHere(desk, 'routes', '-c', 'ends.yaml', '-o', 'json')
  expect(JSON.parse(stdout)).toEqual({
    file: 'ends.yaml',
    rules: [
      {
        rule: 'noise',
        place: 'ends.yaml:4:13',
        onMatch: 'drop',
        conditions: [
          { name: 'kind', value: 'Event' },
          { name: 'reason', value: '${env:NOISE}' },
        ],
        limits: [],
        to: [],
      },
      {
        rule: 'last',
        place: 'ends.yaml:5:13',
        onMatch: 'end',
        conditions: [],
        limits: [],
        to: [{ sink: 'chat', type: 'slack', options: { channel: '#b' } }],
      },
    ],
    unused: ['spare'],
  })
})

test('routes filters by rule and sink, and names what does not exist', async () => {
  using desk = openProofDesk()
  const names = async (...args: string[]) =>
    JSON.parse((await runHere(desk, 'routes', '-o', 'json', ...args)).stdout).rules.map(
      ({ rule }: { rule: string }) => rule,
    )
  expect(await names('--sink', 'audit')).toEqual(['rollouts'])
  expect(await names('--rule', 'noise')).toEqual(['noise'])
  expect(await runHere(desk, 'routes', '--sink', 'oncal')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('"oncal"; did you mean "oncall"?'),
  })
})
