import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { builtInSinks } from '../../sinks/index.ts'
import { loadConfig } from '../../src/config/load.ts'
import { formatProblems } from '../../src/config/problem.ts'
import { DEMO_STARTER, STARTER } from '../../src/config/starter.ts'

const FIXTURES = new URL('../fixtures/config/', import.meta.url)

function load(text: string, env: Record<string, string> = {}, file = 'kubeherald.yaml') {
  const readFile = (path: string) => readFileSync(path, 'utf8')
  return loadConfig({ file, text, env, readFile, sinkTypes: builtInSinks })
}

test.each(readdirSync(FIXTURES))(
  'acceptance 9: %s is refused with an answer that a stranger can act on',
  async (name) => {
    const text = readFileSync(new URL(name, FIXTURES), 'utf8')
    const loaded = await load(text, { SECRET: 'hunter2-secret-value' }, name)
    if (loaded.ok) throw new Error('it was accepted')
    const answer = formatProblems(loaded.problems, text)
    expect(answer).not.toContain('hunter2-secret-value')
    await expect(answer).toMatchFileSnapshot(`../golden/config/${name.replace('.yaml', '.txt')}`)
  },
)

const GOOD = `
cluster: prod-eu
watch:
  - Event
  - { kind: Deployment, namespaces: [shop, "pay-*"] }
  - { kind: databases.stable.example.com, labels: tier=gold }
sinks:
  screen: { type: stdout }
  hook: { type: webhook, url: "https://example.com/\${env:PATH_PART}" }
rules:
  - name: noise
    when: { namespace: kube-system, type: Normal }
    drop: true
  - name: crash-loops
    when: { kind: Event, type: Warning, reason: [BackOff, OOMKilling], regarding: { kind: Pod } }
    to: [screen, hook]
`

test('a good configuration is read, with defaults, shorthands and references', async () => {
  const loaded = await load(GOOD, { PATH_PART: 'abc' })
  expect(loaded).toMatchObject({
    ok: true,
    warnings: [],
    config: {
      cluster: 'prod-eu',
      server: { host: '127.0.0.1', port: 9464 },
      watch: [
        { kind: 'Event' },
        { kind: 'Deployment', namespaces: ['shop', 'pay-*'] },
        { labels: 'tier=gold' },
      ],
      rules: [{ drop: true }, { to: ['screen', 'hook'] }],
    },
  })
  if (!loaded.ok) return
  expect(String((loaded.config.sinks[1]!.options as { url: URL }).url)).toBe('https://example.com/abc')
})

test('a sink that no rule uses is a warning, not an error', async () => {
  const loaded = await load(
    'watch: [Pod]\nsinks: { a: { type: stdout }, b: { type: stdout } }\nrules: [{ name: r, to: [a] }]',
  )
  expect(loaded).toMatchObject({
    ok: true,
    warnings: [{ line: 2, message: 'no rule sends anything to "b"', severity: 'warning' }],
  })
})

test('$${ stays a plain ${', async () => {
  const text = `watch: [Pod]\nsinks: { a: { type: webhook, url: "http://x/", headers: { x-a: "$\${env:HOME}" } } }\nrules: [{ name: r, to: [a] }]`
  const loaded = await load(text)
  expect(loaded).toMatchObject({
    ok: true,
    config: { sinks: [{ options: { headers: { 'x-a': '${env:HOME}' } } }] },
  })
})

test.each([STARTER, DEMO_STARTER])('the built-in starter configurations are good', async (text) => {
  expect(await load(text)).toMatchObject({ ok: true, warnings: [] })
})
