import { expect, test } from 'vitest'
import { createConfigSnapshot } from '../../src/app/config-snapshot.ts'
import { evaluateWith } from '../../src/app/evaluation.ts'
import { sinkLoader } from '../../src/sink-types.ts'
import { loadText, withRules } from '../config/load-text.ts'
import { clusterEvent } from '../rules/events.ts'

test('a group key that cannot be computed is an error of its rule; the other rules get the event', async () => {
  const rules = `
  - { name: first, throttle: { per: annotations.team, every: 10m }, to: screen }
  - { name: second, group: { by: namespace }, to: digests }
  - { name: all, to: other }
`
  const text = withRules(rules).replace(
    'screen: {',
    'digests: { type: stdout }, other: { type: stdout }, screen: {',
  )
  const loaded = await loadText(text)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const errors: string[] = []
  const { match, limits } = await createConfigSnapshot(loaded.config, {
    load: sinkLoader(),
    onMatch() {},
    onRuleError: (rule, error) => void errors.push(`${rule}: ${(error as Error).message}`),
  })
  const event = Object.defineProperty(clusterEvent(), 'annotations', {
    get() {
      throw new SyntaxError('no annotations')
    },
  })
  const decide = evaluateWith({ normalise: () => event, match, limits, onMalformed() {} })
  const source = { key: 'k', title: 'Pod', resource: event.resource } as Parameters<typeof decide>[0]
  const decision = decide(source, [{ name: event.name } as never])
  expect(errors).toEqual(['first: no annotations'])
  expect(decision.deliveries.map(({ rule, sink }) => `${rule} ${sink}`)).toEqual(['all other'])
  expect(decision.limits?.keys.shared).toEqual([expect.stringMatching(/^second:/)])
})
