import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { importText } from '../../../src/cli/import/import.ts'
import { toYaml } from '../../../src/cli/import/imported.ts'

const PODS = { event: { types: ['delete'] }, resources: [{ type: 'v1/pods' }] }

/** What is made of these plugins of the source `s`, which one channel is bound to. */
function imported(plugins: object, bindings: object = { sources: ['s'] }): { text: string; config: any } {
  const raw = {
    sources: { s: plugins },
    communications: {
      g: { socketSlack: { enabled: true, channels: { c: { name: 'ops', bindings } } } },
    },
  }
  const text = toYaml(importText(stringify(raw), 'it.yaml', 'botkube'))
  return { text, config: parse(text) }
}

test.each(['botkube/kubernetes', 'botkube/kubernetes@v1.5.0', 'botkube/kubernetes@latest'])(
  'the plugin %s is the source of Kubernetes',
  (plugin) => {
    const { text, config } = imported({ [plugin]: { enabled: true, config: PODS } })
    expect(config.rules).toMatchObject([{ when: { kind: 'pods', type: 'DELETED' }, to: ['c'] }])
    expect(text).not.toContain('not carried over')
  },
)

test('two versions of the plugin in one source both count', () => {
  const services = { event: { types: ['create'] }, resources: [{ type: 'v1/services' }] }
  const { config } = imported({
    'botkube/kubernetes': { enabled: true, config: PODS },
    'botkube/kubernetes@v1.5.0': { enabled: true, config: services },
  })
  expect(config.watch).toEqual(['pods', 'services'])
  expect(config.rules).toHaveLength(2)
})

test.each([
  'botkube/kubernetes-fork',
  'botkube/kubernetesx@v1',
  'mine/botkube/kubernetes',
  'mine/kubernetes',
])('the plugin %s is another one: it is named', (plugin) => {
  const { text, config } = imported({ [plugin]: { enabled: true, config: PODS } })
  expect(config.rules).toMatchObject([{ drop: true }])
  expect(text).toContain(`# not carried over: the source "s" uses ${plugin}`)
})

test('a channel that is bound to a source twice gets its events once', () => {
  const plugins = { 'botkube/kubernetes': { enabled: true, config: PODS } }
  expect(imported(plugins, { sources: ['s', 's'] }).config.rules).toMatchObject([{ to: ['c'] }])
})

test.each([
  { types: ['create'] },
  { types: ['delete'] },
  { types: ['create', 'delete'] },
  { types: ['error'] },
  { types: [] },
])('recommendations are named as not carried over where the types are $types', ({ types }) => {
  const config = {
    ...PODS,
    event: { types },
    recommendations: { pod: { noLatestImageTag: true } },
  }
  const { text } = imported({ 'botkube/kubernetes': { enabled: true, config } })
  expect(text).toMatch(/# not carried over: .*recommendations/)
})

test('what was set from a chat counts more than the Secret, which kubectl prints behind it', () => {
  const channels = (settings: object) => ({ communications: { g: { mattermost: settings } } })
  const configMap = (name: string, key: string, config: object) => ({
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
    data: { [key]: stringify(config) },
  })
  const source = { 'botkube/kubernetes': { enabled: true, config: PODS } }
  const secret = channels({
    enabled: true,
    channels: {
      quiet: { name: 'quiet', notification: { disabled: false }, bindings: { sources: ['few'] } },
      ops: { name: 'ops', notification: { disabled: false }, bindings: { sources: ['few', 'many'] } },
    },
  })
  const items = [
    configMap('botkube-global-config', 'global_config.yaml', { sources: { few: source, many: source } }),
    configMap(
      'botkube-runtime-config',
      '_runtime_state.yaml',
      channels({ channels: { ops: { bindings: { sources: ['few'] } } } }),
    ),
    configMap(
      'botkube-startup-config',
      '_startup_state.yaml',
      channels({ channels: { quiet: { notification: { disabled: true } } } }),
    ),
    {
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'botkube-communication-secret' } },
      data: { 'comm_config.yaml': Buffer.from(stringify(secret)).toString('base64') },
    },
  ]
  const text = toYaml(importText(stringify({ apiVersion: 'v1', kind: 'List', items }), 'it.yaml', 'botkube'))
  const { sinks, rules } = parse(text)
  expect(Object.keys(sinks)).toEqual(['ops'])
  expect(rules).toMatchObject([{ to: ['ops'] }])
  expect(text).toContain('Notifications of quiet were disabled')
})
