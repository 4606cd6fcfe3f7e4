import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { convert, type ToolName } from '../../../src/cli/import/import.ts'

interface Rule {
  name: string
  when?: Record<string, unknown>
  if?: string
  to?: unknown[]
  drop?: boolean
}

/** The rules of the configuration that is made, which is valid. */
async function rulesOf(tool: ToolName, raw: object): Promise<{ rules: Rule[]; text: string; off: number }> {
  const { text, losses, problems } = await convert(JSON.stringify(raw), 'it.yaml', tool)
  expect(problems.filter(({ severity }) => severity === 'error')).toEqual([])
  return { rules: parse(text).rules, text, off: losses.rules }
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
    [{ type: 'Warning' }, /type: \[ ADDED, Warning \]/],
    [{ component: 'kubelet' }, /source\.\?component\.orValue\(""\)\.matches\("kubelet"\)/],
    [{ host: 'node-1' }, /source\.\?host\.orValue\(""\)\.matches\("node-1"\)/],
    [{ labels: { team: 'shop' } }, /labels: { team: \/shop\/ }/],
    [{ annotations: { team: 'shop' } }, /annotations: { team: \/shop\/ }/],
    [{ labels: { team: '' } }, /labels: { team: "\*" }/],
    [{ minCount: 3 }, /object\.\?count\.orValue\(0\) >= 3/],
  ]

  test.each(CARRIED)('%j is asked by the rule', async (condition, asked) => {
    const { rules, text } = await exporter({ routes: [{ match: [{ ...condition, receiver: 'a' }] }] })
    expect(sending(rules)).toHaveLength(1)
    expect(text).toMatch(asked)
  })

  const LOST: readonly object[] = [
    { annotations: 'team' },
    { labels: JSON.parse('{ "__proto__": "x" }') },
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
    expect(text).toMatch(/# +off: .+\n# +- name: a\n/)
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
        expect(text).toMatch(/# +off: /)
      }
    },
  )

  test('the other routes of a match that is off stay on', async () => {
    const { rules } = await exporter({
      routes: [
        { match: [{ reportingController: 'kubelet', receiver: 'a' }] },
        { match: [{ type: 'Warning', receiver: 'a' }] },
      ],
    })
    expect(sending(rules)).toMatchObject([{ when: { type: ['ADDED', 'Warning'] } }])
  })

  test.each(['namespace', 'type'])(
    'what was no regular expression matched nothing: a match of %s is off, a drop drops nothing',
    async (key) => {
      const match = await exporter({ match: [{ [key]: '*preview*', receiver: 'a' }] })
      expect(sending(match.rules)).toEqual([])
      const drop = await exporter({ drop: [{ [key]: '*preview*' }], match: [{ receiver: 'a' }] })
      expect(drop.rules).toEqual([{ name: 'a', when: { kind: 'Event', type: 'ADDED' }, to: ['a'] }])
    },
  )

  test.each([{ namespace: '*test*' }, { minCount: 6, apiVersion: '*beta*' }])(
    'a drop of %j matched nothing: a comment says so at the root and above each rule that it stood before',
    async (condition) => {
      const root = await exporter({ drop: [condition], match: [{ receiver: 'a' }] })
      const written = JSON.stringify(condition)
      expect(root.text).toContain(`# the drop of ${written} is left out: `)
      expect(root.off).toBe(0)
      const match = [{ receiver: 'a' }]
      for (const route of [
        { drop: [condition, { type: 'Normal' }], match },
        { drop: [condition, { type: 'Normal' }], routes: [{ match }] },
      ]) {
        const { rules, text } = await exporter({ routes: [route] })
        expect(sending(rules)).toMatchObject([{ when: { type: ['ADDED', '!Normal'] } }])
        expect(text).toContain(`# the drop of ${written} is left out: `)
      }
    },
  )

  test('a route that dropped every event, and keys that select nothing, are named at the head', async () => {
    const { rules, text } = await exporter(
      {
        routes: [
          { drop: [{}], match: [{ receiver: 'a' }] },
          { match: [{ receiver: 'a' }], logFormat: 'x' },
        ],
      },
      { kubeQPS: 60, logLevel: 'debug' },
    )
    expect(sending(rules)).toHaveLength(1)
    expect(text).toContain('# A route to a dropped every event: left out.')
    expect(text).toContain('# not carried over: route.routes[1].logFormat')
    expect(text).toContain('# not carried over: kubeQPS 60')
  })

  test('a key of the file that is not known turns all rules off', async () => {
    const { rules, off } = await exporter({ match: [{ receiver: 'a' }] }, { watchReasons: ['Failed'] })
    expect([sending(rules), off]).toEqual([[], 1])
  })

  test('where excluded labels are unknown, events do not pass', async () => {
    const route = { drop: [{ labels: { a: 'b' } }], match: [{ receiver: 'a' }] }
    const { rules } = await exporter({ routes: [route] })
    expect(rules[0]?.if).toMatch(/^event\.regarding\.kind in \["Pod",/)
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
    expect(sending((await exporter(route, { namespace: '*' })).rules)).toEqual([])
    expect((await exporter(route, { namespace: 'a' })).text).toContain('namespaces: [ a ]')
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
              filters: { objectAnnotationChecker: false },
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
    [{ annotations: { team: 'shop' } }, ['changes', 'events']],
    [{ namespaces: { include: ['shop'], exclude: ['test'] } }, ['changes', 'events']],
    [{ name: { include: ['web-.*'] } }, ['changes', 'events']],
    [{ event: { types: ['all'], reason: { include: ['BackOff'] } } }, ['events']],
    [{ event: { types: ['all'], reason: { include: ['.*'], exclude: ['BackOff'] } } }, ['changes', 'events']],
    [{ event: { types: ['all'], reason: { include: ['BackOff', '^$'] } } }, ['changes', 'events']],
    [{ event: { types: ['create', 'warning', 'normal', 'info'] } }, ['changes']],
    [{ event: { types: [] }, namespaces: { include: [] } }, ['changes', 'events']],
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
    expect(text).toMatch(/# +off: /)
  })

  test('"exclude" without "include" matched nothing: the rule is off', async () => {
    const { rules, text, off } = await botkube({ namespaces: { exclude: ['kube-system'] } })
    expect([sending(rules), off]).toEqual([[], 2])
    expect(text).toContain('# not carried over: the type "normal" of v1/pods')
  })

  test('an exclusion of every value excludes objects without a namespace, too', async () => {
    const { text } = await botkube({
      type: 'v1/namespaces',
      namespaces: { include: ['.*'], exclude: ['.*'] },
    })
    expect(text).toContain('namespace: [ "*", "!/.*/" ]')
  })

  test('what the source asks holds for its resources, except where they ask themselves', async () => {
    expect(kinds((await botkube({}, { annotations: { a: 'b' } })).rules)).toEqual(['changes', 'events'])
    expect((await botkube({}, { annotations: { a: 'b' } })).text).toContain('annotations: { a: b }')
    expect(sending((await botkube({}, { namespaces: ['shop'] })).rules)).toEqual([])
    expect(sending((await botkube({}, { selector: 'a=b' })).rules)).toEqual([])
    const event = { types: ['error'], reason: { include: ['^A$'] } }
    const own = { event: { message: { include: ['^b$'] } } }
    expect((await botkube(own, { event })).rules).toMatchObject([{ when: { message: 'b' } }])
    expect((await botkube(own, { event })).rules[0]?.when).not.toHaveProperty('reason')
  })

  test('the filters that are on by default are asked for', async () => {
    const annotated = await botkube({}, { filters: {} })
    expect(kinds(annotated.rules)).toEqual(['changes', 'events'])
    expect(annotated.text).toContain('annotations: { botkube.io/disable: "!true" }')
    expect(kinds((await botkube({ type: 'v1/nodes' })).rules)).toEqual(['events'])
    const off = { filters: { objectAnnotationChecker: false, nodeEventsChecker: false } }
    expect(kinds((await botkube({ type: 'v1/nodes' }, off)).rules)).toEqual(['changes', 'events'])
  })

  test('of a kind with recommendations only objects that have one were sent when created', async () => {
    const { rules } = await botkube({}, { recommendations: { pod: { labelsSet: true } } })
    expect(rules[0]).toMatchObject({ when: { type: ['MODIFIED', 'DELETED'] } })
  })

  test('a source or a platform that is not enabled sends nothing', async () => {
    const config = { event: { types: ['create'] }, resources: [{ type: 'v1/pods' }] }
    const source = (enabled?: boolean) => ({ s: { 'botkube/kubernetes': { enabled, config } } })
    const channels = (enabled?: boolean) => ({
      g: { webhook: { enabled, url: 'https://a/b', bindings: { sources: ['s'] } } },
    })
    const raw = (a?: boolean, b?: boolean) => ({ sources: source(a), communications: channels(b) })
    expect(sending((await rulesOf('botkube', raw(true, true))).rules)).toHaveLength(1)
    expect(sending((await rulesOf('botkube', raw(undefined, true))).rules)).toEqual([])
    await expect(rulesOf('botkube', raw(true, undefined))).resolves.toMatchObject({ rules: [{ drop: true }] })
  })

  test('a channel without notifications gets none, and without any source nothing is sent', async () => {
    expect(sending((await botkube({}, {}, {}, { notification: { disabled: true } })).rules)).toEqual([])
    expect(sending((await rulesOf('botkube', { sources: {}, communications: {} })).rules)).toEqual([])
  })
})

describe('kubewatch', () => {
  const kubewatch = (more: object) =>
    rulesOf('kubewatch', { handler: { webhook: { url: 'https://x/y' } }, resource: { pod: true }, ...more })

  test.each([{}, { namespace: 'shop' }, { customresources: [{ group: 'a.b', resource: 'cs' }] }])(
    'the rule is on with %j',
    async (more) => {
      expect(sending((await kubewatch(more)).rules)).toHaveLength(1)
    },
  )

  test.each([
    { resource: {} },
    { resource: { limitrange: true } },
    { resource: { pod: { watch: true, events: { delete: false } } } },
    { namespace: { name: 'a' } },
    { namespace: ['a', 'b'] },
    { namespace: '*' },
    { reason: ['Failed'] },
    { event: { create: ['pod'] } },
    { namespacesconfig: { include: ['a'] } },
  ])('the rule is off with %j, with its reason', async (more) => {
    const { rules, text, off } = await kubewatch(more)
    expect([sending(rules), off]).toEqual([[], 1])
    expect(text).toMatch(/# +off: /)
  })

  test('only the first handler gets something, and none whose filter is unknown', async () => {
    const handler = { cloudevent: { url: 'https://x/y' }, msteams: { webhookurl: 'https://x/z' } }
    expect(sending((await kubewatch({ handler })).rules)).toMatchObject([{ to: ['cloudevent'] }])
    const { text } = await convert(
      `${JSON.stringify({ handler, resource: { pod: true } })} # ADVANCED_FILTERS=true`,
      'it.yaml',
    )
    expect(sending(parse(text).rules)).toEqual([])
  })
})
