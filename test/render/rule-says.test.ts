import { expect, test } from 'vitest'
import { createConfigSnapshot } from '../../src/app/config-snapshot.ts'
import { sinkLoader } from '../../src/sink-types.ts'
import { loadText } from '../config/load-text.ts'
import { NOTICES } from './notices.ts'

test('severity and labels of a rule reach what people read, programs get and templates see', async () => {
  const loaded = await loadText(`
watch: [Event]
sinks: { screen: { type: stdout } }
rules:
  - { name: trouble, when: { kind: Event }, to: screen, severity: info, labels: { team: pay, tier: "1" } }
  - { name: other, when: { kind: Event }, to: screen, labels: { team: shop }, message: "{{ message.labels.team }}" }
`)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const { choices } = await createConfigSnapshot(loaded.config, {
    load: sinkLoader(),
    clock: Date,
    onMatch() {},
    onRuleError() {},
  })
  const it = { ...NOTICES['one after others were suppressed']!, sink: 'screen' }
  const message = choices.render(it, 0)
  expect(message.content).toMatchObject({
    severity: 'info',
    fields: expect.arrayContaining([
      { title: 'team', value: 'pay' },
      { title: 'tier', value: '1' },
    ]),
  })
  expect(JSON.parse(message.cloudEvent.toString())).toMatchObject({
    severity: 'info',
    data: { labels: { team: 'pay', tier: '1' }, suppressed: { count: 14 } },
  })
  expect(choices.render({ ...it, rule: 'other' }, 0).content.title).toBe('shop')
  expect(choices.render({ ...it, rule: 'gone' }, 0).content.severity).toBe('error')
})

test('a state topic takes no digests: told when the file is checked', async () => {
  const loaded = await loadText(`
watch: [Deployment]
sinks: { bus: { type: kafka, brokers: ["kafka:9092"], topic: k8s, state: true } }
rules: [{ name: all, to: bus, group: { wait: 1m } }]
`)
  const problems = loaded.ok ? [] : loaded.problems.map(({ message }) => message)
  expect(problems).toEqual([expect.stringContaining('a digest is not a state of an object')])
})
