import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { assemble } from '../../src/config/assemble.ts'
import { checkedValueOf, placeIn } from '../../src/config/checked-value.ts'
import type { SinkType } from '../../src/sink/index.ts'
import { builtInSinks } from '../../src/sink-types.ts'
import { loadText } from './load-text.ts'

const ROOT = join(import.meta.dirname, '../..')
const TOKEN = 'xoxb-1111111111-fake'
const SETS = `
watch: [Event, Pod, Node, Deployment, ReplicaSet, Secret, PersistentVolumeClaim]
include: [kubeherald:crash-loops, kubeherald:nodes]
sinks: { chat: { type: slack, token: xoxb-1111111111-fake, channel: "#a" }, bus: { type: kafka, brokers: ["k:9092"], topic: t } }
defaults: { to: [chat, { bus: { topic: other } }] }
x-shared: { a: 1 }
rules:
  - { name: own, when: { kind: Pod }, message: { title: "{{ name }}", fields: { who: "{{ object.kind }}" } } }
  - { name: digest, when: { kind: Event }, group: { wait: 1m }, mute: { from: "22:00", to: "06:00" }, to: chat }
`
const FILES = {
  'all at once': SETS,
  ...Object.fromEntries(
    globSync(join(ROOT, 'docs/examples/rules/*.yaml'))
      .filter((path) => !path.endsWith('_test.yaml'))
      .map((path) => [path.slice(ROOT.length), readFileSync(path, 'utf8')]),
  ),
}

/** Functions are what was compiled of texts that are compared, too. */
const comparable = (config: object) => {
  const { placeOf: _p, written, ...rest } = config as Record<string, unknown>
  const seen = { written: { ...(written as object), tests: undefined, vars: undefined }, ...rest }
  return JSON.parse(JSON.stringify(seen, (_, it) => (it instanceof Map ? [...it] : it)))
}

async function load(text: string) {
  const env = { SLACK_TOKEN: TOKEN, KAFKA: 'k:9092', PAGER_URL: 'http://127.0.0.1:9/', HOME: '/home' }
  const loaded = await loadText(text, { env })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded
}

test.each(Object.entries(FILES))(
  'what another thread checked makes the same configuration: %s',
  async (_, text) => {
    const { config, document } = await load(text)
    const value = structuredClone(checkedValueOf(document))
    const made = await assemble(value, { folder: '/etc/kubeherald', sinkTypes: builtInSinks })
    if (!made) throw new Error('it was refused')
    expect(comparable(made)).toEqual(comparable(config))
  },
)

test('what a type refuses here is not a configuration', async () => {
  const { document } = await load(
    'watch: [Pod]\nsinks: { a: { type: stdout } }\nrules: [{ name: r, to: a }]\n',
  )
  const refuse = {
    '~standard': { version: 1, vendor: 'x', validate: () => ({ issues: [{ message: 'no' }] }) },
  }
  const stdout = async () => ({ ...(await builtInSinks.stdout()), config: refuse }) as SinkType
  const value = checkedValueOf(document)
  expect(await assemble(value, { folder: '/', sinkTypes: { stdout } })).toBeUndefined()
  expect(await assemble(value, { folder: '/', sinkTypes: {} })).toBeUndefined()
})

test('each character of a template has the place that the file gives it', async () => {
  const text = `
watch: [Pod]
sinks:
  a: { type: stdout, format: message, messages: { text: 'x "{{ name }}" ''q'' {{ kind }}' } }
rules:
  - name: r
    to: a
    message:
      title: "\\u0041\\t{{ name }} \\"b\\" {{ kind }}"
      text: >-
        Folded {{ name }}
        over lines

        with {{ kind }}
      fields:
        "a b": |
          {{ name }}
            deep {{ kind }}
        env: "\${env:HOME} {{ name }}"
`
  const { config, document } = await load(text)
  const { places } = checkedValueOf(document)
  const paths = [
    ['sinks', 'a', 'messages', 'text'],
    ...[['title'], ['text'], ['fields', 'a b'], ['fields', 'env']].map((it) => [
      'rules',
      0,
      'message',
      ...it,
    ]),
  ]
  for (const path of paths) {
    const { length } = String(document.at(path)?.value)
    expect(length).toBeGreaterThan(5)
    for (let offset = 0; offset < length; offset++)
      expect(`${offset} ${placeIn(places, path, offset)}`).toBe(`${offset} ${config.placeOf?.(path, offset)}`)
    expect(placeIn(places, path)).toBe(config.placeOf?.(path))
  }
  expect(placeIn(places, ['rules', 0, 'message', 'fields', 'gone'], 3)).toMatch(/kubeherald.yaml:16:\d+$/)
})
