import { expect, test } from 'vitest'
import { describeDifferences, differences } from '../../../src/app/reload.ts'
import { describeRestart } from '../../../src/model/status.ts'
import { loadText } from '../../config/load-text.ts'

const SINKS = '{ out: { type: stdout }, hook: { type: webhook, url: "http://127.0.0.1:9/" } }'
const RULES = '[{ name: a, when: { kind: Pod }, to: [out] }, { name: b, when: { kind: Event }, to: [hook] }]'

async function configOf({ watch = '[Pod, Event]', sinks = SINKS, rules = RULES, more = '' } = {}) {
  const loaded = await loadText(`${more}\nwatch: ${watch}\nsinks: ${sinks}\nrules: ${rules}\n`)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded.config
}

async function between(after: Parameters<typeof configOf>[0], before: Parameters<typeof configOf>[0] = {}) {
  return differences(await configOf(before), await configOf(after))
}

test('nothing changed, also where the file is written otherwise', async () => {
  const changes = await between({ more: '# a comment', watch: '[{ kind: Pod }, Event]' })
  expect(describeDifferences(changes)).toBeUndefined()
  expect(changes.restart).toEqual([])
})

test.each([
  ['a watch more', { watch: '[Pod, Event, Deployment]' }, '+1 watch'],
  ['other selectors: another watch', { watch: '[{ kind: Pod, labels: a=b }, Event]' }, '+1 watch, -1 watch'],
  ['a sink more', { sinks: SINKS.replace('{ out', '{ more: { type: stdout }, out') }, '+1 sink'],
  ['options of a sink', { sinks: SINKS.replace(':9/', ':8/') }, '1 sink changed'],
  [
    'its type',
    { sinks: SINKS.replace('{ type: stdout }', '{ type: file, path: /tmp/a }') },
    '1 sink changed',
  ],
  [
    'its messages',
    { sinks: SINKS.replace('stdout }', 'stdout, format: message, messages: "x" }') },
    '1 sink changed',
  ],
  ['a condition', { rules: RULES.replace('kind: Pod', 'kind: Pod, name: x') }, 'rules changed'],
  [
    'what a rule says',
    { rules: RULES.replace('to: [hook]', 'to: [hook], message: "{{ name }}"') },
    'rules changed',
  ],
  [
    'the order of rules',
    {
      rules: '[{ name: b, when: { kind: Event }, to: [hook] }, { name: a, when: { kind: Pod }, to: [out] }]',
    },
    'rules changed',
  ],
])('%s', async (_, after, said) => {
  expect(describeDifferences(await between(after))).toBe(said)
})

test('watches less', async () => {
  const changes = await between({}, { watch: '[Pod, Event, Job, Node]' })
  expect(describeDifferences(changes)).toBe('-2 watches')
  expect(changes.watches.removed).toEqual(['Job', 'Node'])
})

test('what changed is told by name', async () => {
  const rules = RULES.replace('name: a', 'name: c').replace('kind: Event', 'kind: [Event]')
  expect((await between({ rules })).rules).toEqual({ added: ['c'], removed: ['a'], changed: ['b'] })
})

test('keys that are read at the start only need a restart; a default that is written out does not', async () => {
  expect((await between({ more: 'server: { port: 9464 }' })).restart).toEqual([])
  const more = 'redis: { url: "redis://somewhere:6379" }\ncluster: other\nserver: false'
  const { restart } = await between({ more })
  expect(restart).toEqual(['cluster', 'redis', 'server'])
  expect(describeRestart(restart)).toBe('cluster, redis and server changed: restart to use them')
  expect(describeRestart(['redis'])).toBe('redis changed: restart to use it')
})
