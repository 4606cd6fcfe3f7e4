import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { runHere } from '../here.ts'
import { BACK_OFF, openProofDesk } from '../proof-fixture.ts'

interface Explained {
  rules: { rule: string; messages: { sink: string }[] }[]
  sent: { sink: string; rule: string }[]
}

test('explain --rule and --sink select in data, too', async () => {
  using desk = openProofDesk()
  const ofRule = await runHere(desk, 'explain', 'backoff.yaml', '--rule', 'crash-loops', '--json')
  const { rules, sent }: Explained = JSON.parse(ofRule.stdout)
  expect(rules.map(({ rule }) => rule)).toEqual(['crash-loops'])
  expect(sent.map(({ rule }) => rule)).toEqual(['crash-loops', 'crash-loops', 'crash-loops'])

  const ofSink = await runHere(desk, 'explain', 'backoff.yaml', '--sink', 'pager', '-o', 'yaml')
  const selected: Explained = parse(ofSink.stdout)
  expect(selected.rules).toHaveLength(6)
  expect(selected.rules.flatMap(({ messages }) => messages.map(({ sink }) => sink))).toEqual(['pager'])
  expect(selected.sent).toEqual([{ sink: 'pager', rule: 'crash-loops' }])
})

test('of many objects explain --sink has lines for this sink alone', async () => {
  using desk = openProofDesk()
  const events = Array.from({ length: 8 }, (_, i) => BACK_OFF.replace('web-1 }', `web-${i} }`))
  const other = BACK_OFF.replace('reason: BackOff', 'reason: Other')
  desk.write('input', [...events, other].join('---\n'))
  const { stdout } = await runHere(desk, 'explain', 'input', '--sink', 'pager')
  const lines = stdout.trimEnd().split('\n').slice(0, -1)
  expect(lines).toHaveLength(8)
  expect(lines.filter((line) => !line.includes('→ pager'))).toEqual([])
})

test('test --coverage has the rules that no test shows in data, too', async () => {
  using desk = openProofDesk()
  desk.write(
    'kubeherald_test.yaml',
    'tests: [{ name: a back-off, given: backoff.yaml, expect: { rule: crash-loops } }]\n',
  )
  const uncovered = async (...args: string[]) =>
    JSON.parse((await runHere(desk, 'test', '--json', ...args)).stdout).uncovered
  expect(await uncovered()).toBeUndefined()
  expect(await uncovered('--coverage')).toEqual([
    { rule: 'noise', place: expect.stringMatching(/^kubeherald\.yaml:\d+:\d+$/) },
    expect.objectContaining({ rule: 'failed' }),
    expect.objectContaining({ rule: 'rollouts' }),
    expect.objectContaining({ rule: 'broken-nodes' }),
  ])
})
