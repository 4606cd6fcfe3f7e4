import { describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { importText, type ToolName } from '../../../src/cli/import/import.ts'
import { toYaml } from '../../../src/cli/import/imported.ts'
import { UsageError } from '../../../src/cli/usage-error.ts'

const read = (documents: readonly object[], tool?: ToolName) =>
  toYaml(importText(documents.map((it) => stringify(it)).join('---\n'), 'it.yaml', tool))

const kubewatch = (channel: string, resource: object) => ({
  handler: { slack: { token: 'x', channel } },
  resource,
})
const SECRETS = kubewatch('#team-a', { secret: true })
const PODS = kubewatch('#team-b', { pod: true })

const exporter = (name: string) => ({
  route: { match: [{ receiver: name }] },
  receivers: [{ name, stdout: {} }],
})

const configMap = (name: string, data: Readonly<Record<string, object>>, namespace?: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...(namespace && { namespace }) },
  data: Object.fromEntries(Object.entries(data).map(([key, it]) => [key, stringify(it)])),
})

describe('two whole configurations', () => {
  test.each<[where: string, documents: object[], places: string[]]>([
    [
      'in two ConfigMaps',
      [configMap('a', { 'config.yaml': SECRETS }), configMap('b', { 'config.yaml': PODS })],
      ['ConfigMap a', 'ConfigMap b'],
    ],
    [
      'in ConfigMaps with the same name in two namespaces',
      [configMap('it', { c: SECRETS }, 'team-a'), configMap('it', { c: PODS }, 'team-b')],
      ['ConfigMap team-a/it', 'ConfigMap team-b/it'],
    ],
    [
      'in a List',
      [
        {
          apiVersion: 'v1',
          kind: 'List',
          items: [configMap('a', { c: SECRETS }), configMap('b', { c: PODS })],
        },
      ],
      ['ConfigMap a', 'ConfigMap b'],
    ],
    [
      'under two keys of a ConfigMap',
      [configMap('it', { 'a.yaml': SECRETS, 'b.yaml': PODS })],
      ['data["a.yaml"]', 'data["b.yaml"]'],
    ],
    [
      'under two keys of Helm values',
      [{ a: { config: SECRETS }, b: { config: PODS } }],
      ['a.config', 'b.config'],
    ],
    ['as plain documents', [exporter('one'), exporter('two')], ['it.yaml:1:1', 'it.yaml:8:1']],
    ['as two texts in Helm values', [{ a: stringify(SECRETS), b: stringify(PODS) }], ['a', 'b']],
  ])('%s are a mistake that names both places', (_, documents, places) => {
    const named = 'route' in (documents[0] ?? {}) ? 'kubernetes-event-exporter' : 'kubewatch'
    for (const tool of [undefined, named] as const) {
      expect(() => read(documents, tool)).toThrow(UsageError)
      for (const place of places) expect(() => read(documents, tool)).toThrow(place)
    }
  })

  test('at the same place of several documents are values and overlays of them: the last value counts', () => {
    const values = {
      resourcesToWatch: { pod: true, job: true },
      webhook: { enabled: true, url: 'https://a/b' },
    }
    const overlay = { resourcesToWatch: { job: false }, webhook: { url: 'https://a/c' } }
    expect(parse(read([values, overlay]))).toMatchObject({
      watch: ['Pod'],
      sinks: { webhook: { url: 'https://a/c' } },
    })
    const nested = [{ chart: values }, { chart: overlay }]
    expect(parse(read(nested))).toMatchObject({ watch: ['Pod'] })
    const ofChart = [{ config: exporter('one') }, { config: exporter('two') }]
    expect(Object.keys(parse(read(ofChart)).sinks)).toEqual(['two'])
  })
})

test('the parts of one configuration may be in ConfigMaps of the same name', () => {
  const { handler, resource } = PODS
  const parts = [configMap('it', { c: { handler } }, 'a'), configMap('it', { c: { resource } }, 'b')]
  expect(parse(read(parts))).toMatchObject({ watch: ['Pod'], sinks: { slack: { channel: '#team-b' } } })
})

test('a manifest of the same name in another namespace is named as left out', () => {
  const documents = [configMap('it', { c: PODS }, 'shop'), configMap('it', { c: { level: 3 } }, 'other')]
  expect(read(documents)).toContain('ConfigMap other/it')
  const nameless = { apiVersion: 'v1', kind: 'ConfigMap', data: { a: stringify(PODS) } }
  expect(read([nameless, { ...nameless, data: { level: '3' } }])).toMatch(/Left out.+\n# +ConfigMap\n/)
})
