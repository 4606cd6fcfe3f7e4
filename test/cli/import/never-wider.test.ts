import { describe, expect, test } from 'vitest'
import { importFrom, readForeign, type Tool } from '../../../src/cli/import/import.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { formatProblems } from '../../../src/config/problem.ts'
import { builtInSinks } from '../../../src/sink-types.ts'

interface Rule {
  name: string
  when?: Record<string, unknown>
  if?: string
  to?: unknown[]
  drop?: boolean
}

/** The rules of what is made of a configuration, which is sound. */
async function rulesOf(tool: Tool, raw: object): Promise<{ rules: Rule[]; text: string }> {
  const text = importFrom(tool, raw as Record<string, unknown>)
  const loaded = await loadConfig({
    file: 'kubeherald.yaml',
    text,
    env: {},
    readFile() {
      throw Object.assign(new Error(), { code: 'ENOENT' })
    },
    standIn: 'stand-in',
    sinkTypes: builtInSinks,
  })
  expect(loaded.ok ? '' : formatProblems(loaded.problems, text)).toBe('')
  const read = readForeign(text)
  if (!read.ok) throw new Error(read.fault)
  return { rules: read.raw['rules'] as Rule[], text }
}

const sending = (rules: readonly Rule[]) => rules.filter(({ to }) => to !== undefined)

describe('kubernetes-event-exporter', () => {
  const exporter = (route: object, more: object = {}) =>
    rulesOf('kubernetes-event-exporter', { ...more, route, receivers: [{ name: 'a', stdout: {} }] })

  /** Each condition that it knows, and the key that asks the same here. */
  const CARRIED: readonly (readonly [condition: object, asked: RegExp])[] = [
    [{ message: 'x' }, /message: \/x\//],
    [{ apiVersion: 'v1' }, /event\.regarding\.apiVersion\.matches\("v1"\)/],
    [{ kind: 'Pod' }, /kind: \/Pod\//],
    [{ namespace: 'shop' }, /namespace: \/shop\//],
    [{ reason: 'Failed' }, /reason: \/Failed\//],
    [{ type: 'Warning' }, /type: Warning/],
    [{ component: 'kubelet' }, /event\.reportingComponent\.matches\("kubelet"\)/],
    [{ host: 'node-1' }, /source\.\?host\.orValue\(""\)\.matches\("node-1"\)/],
    [{ labels: { team: 'shop' } }, /labels: { team: \/shop\/ }/],
    [{ labels: { team: '' } }, /labels: { team: "\*" }/],
    [{ minCount: 3 }, /event\.count >= 3/],
  ]

  test.each(CARRIED)('%j is asked by the rule', async (condition, asked) => {
    const { rules, text } = await exporter({ routes: [{ match: [{ ...condition, receiver: 'a' }] }] })
    expect(sending(rules)).toHaveLength(1)
    expect(text).toMatch(asked)
  })

  const LOST: readonly object[] = [
    { annotations: { team: 'shop' } },
    { annotations: 'team' },
    { labels: 'team=shop' },
    { labels: { team: ['shop'] } },
    { namespace: ['a', 'b'] },
    { reason: { is: 'Failed' } },
    { minCount: 'many' },
    { minCount: 2.5 },
    { reportingController: 'kubelet' },
    { Namespace: 'shop' },
  ]

  test.each(LOST)('a rule that asks %j as well is off, with its reason', async (condition) => {
    const { rules, text } = await exporter({
      routes: [{ match: [{ type: 'Warning', ...condition, receiver: 'a' }] }],
    })
    expect(sending(rules)).toEqual([])
    expect(text).toMatch(/# off: .+\n# +- name: a\n/)
  })

  test.each(LOST)('a rule below a match that asks %j is off', async (condition) => {
    const { rules } = await exporter({
      match: [condition],
      routes: [{ match: [{ type: 'Warning', receiver: 'a' }] }],
    })
    expect(sending(rules)).toEqual([])
  })

  test.each(LOST)(
    'a drop of %j becomes no wider drop, and what it would have dropped is not sent',
    async (condition) => {
      const route = { match: [{ receiver: 'a' }] }
      for (const it of [
        { drop: [{ type: 'Normal', ...condition }], ...route },
        { routes: [{ drop: [{ type: 'Normal', ...condition }], ...route }] },
        { routes: [{ drop: [{ reason: 'x' }, condition], routes: [route] }] },
      ]) {
        const { rules, text } = await exporter(it)
        expect(sending(rules)).toEqual([])
        expect(rules.filter((rule) => rule.drop && rule.name !== 'nothing')).toEqual([])
        expect(text).toContain('# off: ')
      }
    },
  )

  test('the other routes of a match that is off stay on', async () => {
    const { rules } = await exporter({
      routes: [
        { match: [{ annotations: { a: 'b' }, receiver: 'a' }] },
        { match: [{ type: 'Warning', receiver: 'a' }] },
      ],
    })
    expect(sending(rules)).toMatchObject([{ when: { type: 'Warning' } }])
  })

  test('what was no regular expression matched nothing: a match is off, a drop drops nothing', async () => {
    const match = await exporter({ match: [{ namespace: '*preview*', receiver: 'a' }] })
    expect(sending(match.rules)).toEqual([])
    const drop = await exporter({ drop: [{ namespace: '*preview*' }], match: [{ receiver: 'a' }] })
    expect(drop.rules).toMatchObject([{ name: 'a', to: ['a'] }])
    expect(drop.rules[0]).not.toHaveProperty('when')
  })

  test.each([{ namespace: '*test*' }, { minCount: 6, apiVersion: '*beta*' }])(
    'a drop of %j matched nothing: a comment says so at the root and above each rule that it stood before',
    async (condition) => {
      const root = await exporter({ drop: [condition], match: [{ receiver: 'a' }] })
      expect(root.text).toMatch(/# off: .+ was no regular expression/)
      const written = JSON.stringify(condition)
      const match = [{ receiver: 'a' }]
      for (const route of [
        { drop: [condition, { type: 'Normal' }], match },
        { drop: [condition, { type: 'Normal' }], routes: [{ match }] },
      ]) {
        const { rules, text } = await exporter({ routes: [route] })
        expect(sending(rules)).toMatchObject([{ when: { type: '!Normal' } }])
        expect(text).toContain(`# the drop of ${written} is left out: `)
      }
    },
  )

  test('a route that dropped every event, and keys that are not known, are named at the head', async () => {
    const { rules, text } = await exporter(
      { routes: [{ drop: [{}], match: [{ receiver: 'a' }] }, { matches: [{ receiver: 'a' }] }] },
      { kubeQPS: 60, logLevel: 'debug' },
    )
    expect(sending(rules)).toEqual([])
    expect(text).toContain('# A route to a dropped every event: left out.')
    expect(text).toContain('# A route has the key "matches", which is not known here: left out.')
    expect(text).toContain('# Not carried over: kubeQPS, logLevel.')
  })

  test('labels that were not looked up matched nothing', async () => {
    const route = { match: [{ labels: { team: 'shop' }, receiver: 'a' }] }
    expect(sending((await exporter(route, { omitLookup: true })).rules)).toEqual([])
  })

  test('a label that must not match may be missing, one that must match may not', async () => {
    const labels = { team: '.*', 'app.kubernetes.io/name': 'web' }
    const { rules } = await exporter({
      drop: [{ reason: 'x' }],
      routes: [{ drop: [{ labels }], match: [{ receiver: 'a' }] }],
    })
    expect(sending(rules)[0]?.if).toContain('"team" in event.regarding.labels && ')
  })

  test('a namespace that cannot be read lets no rule on', async () => {
    const route = { match: [{ receiver: 'a' }] }
    expect(sending((await exporter(route, { namespace: { a: 1 } })).rules)).toEqual([])
    expect((await exporter(route, { namespace: ['a', 'b'] })).text).toContain('namespaces: [ a, b ]')
  })
})

describe('Botkube', () => {
  const botkube = (resource: object, config: object = {}, more: object = {}, channel: object = {}) =>
    rulesOf('botkube', {
      ...more,
      sources: {
        s: {
          'botkube/kubernetes': {
            enabled: true,
            config: {
              event: { types: ['create', 'update', 'delete', 'error', 'normal'] },
              ...config,
              resources: [{ type: 'v1/pods', ...resource }],
            },
          },
        },
      },
      communications: {
        g: {
          socketSlack: {
            enabled: true,
            channels: { c: { name: 'x', bindings: { sources: ['s'] }, ...channel } },
          },
        },
      },
    })
  const kinds = (rules: readonly Rule[]) =>
    sending(rules).map(({ when }) => (when?.['kind'] === 'Event' ? 'events' : 'changes'))

  test.each([
    [{}, ['changes', 'events']],
    [{ labels: { team: 'shop' } }, ['changes', 'events']],
    [{ annotations: { team: 'shop' } }, ['changes']],
    [{ namespaces: { include: ['shop'], exclude: ['test'] } }, ['changes', 'events']],
    [{ name: { include: ['web-.*'] } }, ['changes', 'events']],
    [{ event: { types: ['all'], reason: { include: ['BackOff'] } } }, ['events']],
    [{ event: { types: ['all'], reason: { exclude: ['BackOff'] } } }, ['changes', 'events']],
    [{ event: { types: ['all'], message: { include: ['x'] } } }, ['events']],
    [{ updateSetting: { fields: ['spec.nodeName'] } }, ['changes', 'changes', 'events']],
  ])('rules that can ask for all of %j are on', async (resource, on) => {
    const { rules } = await botkube(resource)
    expect(kinds(rules)).toEqual(on)
  })

  test.each([
    { namespaces: ['shop'] },
    { namespaces: 'shop' },
    { namespaces: { include: ['shop'], ignore: ['test'] } },
    { namespaces: { include: ['*-prod'] } },
    { namespaces: { exclude: [{ name: 'test' }] } },
    { name: 'web' },
    { labels: 'team=shop' },
    { labels: { team: 'sho*' } },
    { annotations: ['team'] },
    { event: { types: ['all'], reason: 'BackOff' } },
    { event: { types: ['all'], level: 'warning' } },
    { updateSetting: { fields: [{ path: 'spec' }] } },
    { selector: 'team=shop' },
  ])('all rules of a resource with %j are off, with their reason', async (resource) => {
    const { rules, text } = await botkube(resource)
    expect(sending(rules)).toEqual([])
    expect(text).toContain('# off: ')
  })

  test('what the source says holds for its resources', async () => {
    expect(kinds((await botkube({}, { annotations: { a: 'b' } })).rules)).toEqual(['changes'])
    expect((await botkube({}, { annotations: { a: 'b' } })).text).toContain('annotations: { a: b }')
    expect(sending((await botkube({}, { namespaces: ['shop'] })).rules)).toEqual([])
    expect(sending((await botkube({}, { selector: 'a=b' })).rules)).toEqual([])
  })

  test('filters that leave something out are asked for, or the rule is off', async () => {
    const annotated = await botkube({}, { filters: { objectAnnotationChecker: true } })
    expect(kinds(annotated.rules)).toEqual(['changes'])
    expect(annotated.text).toContain('botkube.io/disable: "!true"')
    const global = { filters: { kubernetes: { nodeEventsChecker: true } } }
    expect(kinds((await botkube({ type: 'v1/nodes' }, {}, global)).rules)).toEqual(['changes'])
    expect(kinds((await botkube({}, {}, global)).rules)).toEqual(['changes', 'events'])
  })

  test('a channel without notifications gets none, and without any source nothing is sent', async () => {
    expect(sending((await botkube({}, {}, {}, { notification: { disabled: true } })).rules)).toEqual([])
    expect(sending((await rulesOf('botkube', { sources: {}, communications: {} })).rules)).toEqual([])
  })
})

describe('kubewatch', () => {
  const kubewatch = (more: object) =>
    rulesOf('kubewatch', { handler: { webhook: { url: 'https://x/y' } }, resource: { pod: true }, ...more })

  test.each([{}, { namespace: 'shop' }, { namespace: ['a', 'b'] }, { message: 'prod' }])(
    'the rule is on with %j',
    async (more) => {
      expect(sending((await kubewatch(more)).rules)).toHaveLength(1)
    },
  )

  test.each([
    { resource: {} },
    { resource: { limitrange: true } },
    { namespace: { name: 'a' } },
    { reason: ['Failed'] },
    { event: { create: ['pod'] } },
    { namespacesconfig: { include: ['a'] } },
  ])('the rule is off with %j, with its reason', async (more) => {
    const { rules, text } = await kubewatch(more)
    expect(sending(rules)).toEqual([])
    expect(text).toContain('# off: ')
  })
})
