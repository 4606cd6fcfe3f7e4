import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Desk, openDesk } from '../cli/cli.ts'
import { waitFor } from '../wait-for.ts'
import { type Bed, startBed } from './bed.ts'
import { manifest } from './workload.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const EVENTS = '/api/v1/namespaces/default/events'

/** The rules to try, without a Redis of their own. */
const NEW = (url: string) => `
cluster: test
redis: { url: "${url}" }
watch: [{ kind: ConfigMap, namespaces: default }, { kind: Event, namespaces: default }]
sinks:
  oncall: { type: slack, token: "\${env:NO_SUCH_TOKEN}", channel: "#oncall" }
  hook: { type: webhook, url: "http://127.0.0.1:9" }
rules:
  - { name: noise, when: { kind: ConfigMap, name: noise-* }, drop: true }
  - { name: maps, when: { kind: ConfigMap }, to: [oncall, hook] }
  - { name: trouble, when: { kind: Event, type: Warning }, to: oncall, message: "{{ event.message }}" }
`

let bed: Bed
let desk: Desk
beforeAll(async () => {
  bed = await startBed({ watch: '[{ kind: ConfigMap, namespaces: default }]\njournal: { keep: 1h }' })
  desk = openDesk({ KUBECONFIG: bed.kubernetes.kubeconfig })
  desk.write('new.yaml', NEW(bed.redis.url))
})
afterAll(async () => {
  desk?.[Symbol.dispose]()
  await bed?.[Symbol.asyncDispose]()
})

const create = (name: string) => bed.kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, name, 0))

function warning(name: string, message: string): object {
  const metadata = { name, namespace: 'default' }
  const involvedObject = { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'web' }
  const about = { involvedObject, type: 'Warning', reason: 'Odd', message }
  return { apiVersion: 'v1', kind: 'Event', metadata, ...about }
}

/** A tail that watches already. */
async function tailing(...args: string[]) {
  const program = desk.start('tail', ...args)
  await waitFor(() => program.output().includes('nothing is sent'), { what: () => program.output() })
  return program
}

test('tail shows what would go where, also with secrets that are not here, and sends nothing', async () => {
  const program = await tailing('--rules', 'new.yaml', '--all')
  await create('noise-1')
  await create('told-1')
  await bed.kubernetes.request('POST', EVENTS, warning('hostile', 'red \u001b[31m \u202e and\nmore'))
  const all = ['[trouble]', 'noise-1', 'hook  ConfigMap default/told-1']
  await waitFor(() => all.every((it) => program.output().includes(it)), { what: () => program.output() })
  const output = program.output()
  expect(output).toMatch(/→ oncall {2}ConfigMap default\/told-1 was created {2}\[maps\]/)
  expect(output).toMatch(/→ hook {2}ConfigMap default\/told-1 was created {2}\[maps\]/)
  expect(output).toMatch(/∅ ConfigMap default\/noise-1 ADDED {2}\[dropped by noise\]/)
  expect(output).toMatch(/→ oncall {2}red .*and more {2}\[trouble\]/)
  expect(output).not.toMatch(/[\u001b\u202e]/)
  await program.end('SIGINT')
  expect(program.output()).toMatch(/3 events of test, 3 messages would have been sent; nothing was\n$/)
})

test('tail needs no Redis, whatever the file says of one', async () => {
  desk.write('none.yaml', NEW('redis://127.0.0.1:9'))
  const program = await tailing('-c', 'none.yaml')
  await create('told-2')
  await waitFor(() => program.output().includes('told-2'), { what: () => program.output() })
  await program.end('SIGTERM')
  expect(program.exitCode()).toBe(0)
})

test('tail shows what was, of the journal, and then what comes, none of it twice', async () => {
  await create('earlier-1')
  await bed.allArrived()
  const program = await tailing(
    '--rules',
    'new.yaml',
    '--since',
    '1h',
    '--sink',
    'hook',
    '--kind',
    'cm',
    '--json',
  )
  await create('later-1')
  const lines = () =>
    program
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { sink: string; event: { name: string } })
  await waitFor(() => lines().some(({ event }) => event.name === 'later-1'), { what: () => program.output() })
  await program.end('SIGINT')
  const names = lines().map(({ event }) => event.name)
  expect(names.filter((it) => it === 'earlier-1')).toEqual(['earlier-1'])
  expect(names.filter((it) => it === 'later-1')).toEqual(['later-1'])
  expect(new Set(lines().map(({ sink }) => sink))).toEqual(new Set(['hook']))
})

test('tail shows what limits suppress, and tells digests when their time has come', async () => {
  const rules = `
  - { name: seldom, when: { name: often-* }, to: hook, throttle: { per: rule, every: 1h } }
  - { name: together, when: { name: often-* }, to: oncall, group: { by: namespace, wait: 1s } }
`
  const yaml = NEW(bed.redis.url)
  desk.write('limits.yaml', `${yaml.slice(0, yaml.indexOf('rules:'))}rules:${rules}`)
  const program = await tailing('--rules', 'limits.yaml', '--all')
  for (const name of ['often-1', 'often-2', 'often-3']) await create(name)
  await waitFor(() => /, digest\]/.test(program.output()), { what: () => program.output() })
  const output = program.output()
  expect(output.match(/→ hook/g)).toHaveLength(1)
  expect(output.match(/suppressed by throttle of seldom/g)).toHaveLength(2)
  expect(output).toMatch(
    /→ oncall {2}3 × ConfigMap created in default \(3 configmaps.*\) {2}\[together, digest\]/,
  )
  await program.end('SIGINT')
})

test('tail ends by itself, and names what it does not know', async () => {
  expect(await desk.run('tail', '--rules', 'new.yaml', '--for', '1s')).toMatchObject({ code: 0 })
  const { code, stderr } = await desk.run('tail', '--rules', 'new.yaml', '--sink', 'oncal')
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining('there is no sink "oncal"; did you mean "oncall"?'),
  })
  expect(await desk.run('tail', '--rules', 'new.yaml', '--for', 'soon')).toMatchObject({ code: 2 })
})

test('backtest tells what other rules would have sent of what happened', async () => {
  await create('noise-2')
  await create('kept-1')
  await bed.allArrived()
  const hook = `{ type: webhook, url: "${bed.hook.url}" }`
  const file = (rules: string, sinks = `{ hook: ${hook} }`) => `
cluster: test
redis: { url: "${bed.redis.url}" }
watch: [{ kind: ConfigMap, namespaces: default }]
sinks: ${sinks}
rules: ${rules}`
  desk.write('now.yaml', file('[{ name: all, to: hook }]'))
  desk.write('same.yaml', file('[{ name: all, when: { kind: ConfigMap }, to: hook }]'))
  desk.write(
    'other.yaml',
    file(
      '[{ name: noise, when: { name: noise-* }, drop: true }, { name: all, to: [hook, screen] }]',
      `{ hook: ${hook}, screen: { type: stdout, format: message } }`,
    ),
  )
  const same = await desk.run('backtest', '-c', 'now.yaml', '--rules', 'same.yaml', '--fail-on-difference')
  expect(same).toMatchObject({ code: 0, stderr: '' })
  expect(same.stdout).toContain('Nothing that is sent differs.')
  const options = ['--fail-on-difference', '--examples', '20']
  const other = await desk.run('backtest', '-c', 'now.yaml', '--rules', 'other.yaml', ...options)
  expect(other.code).toBe(1)
  expect(other.stdout).toMatch(/^\d+ events from .* UTC to .* UTC: now.yaml → other.yaml$/m)
  expect(other.stdout).toMatch(/^hook +all +\d+ +\d+ +-\d+$/m)
  expect(other.stdout).toMatch(/^screen +all +0 +\d+ +\+\d+$/m)
  expect(other.stdout).toMatch(/^ {2}- .*ConfigMap default\/noise-2 was created$/m)
  expect(other.stdout).toMatch(/^ {2}\+ .*ConfigMap default\/kept-1 was created$/m)
  expect((await desk.run('status', '-c', 'now.yaml')).stdout).toMatch(/^journal: \d+\.\d MB of the last \d/m)
  const words = await desk.run(
    'backtest',
    '-c',
    'now.yaml',
    '--rules',
    'other.yaml',
    '--json',
    '--examples',
    '9',
  )
  expect(JSON.parse(words.stdout).examples).toContainEqual(
    expect.objectContaining({ kind: 'less', sink: 'hook', title: 'ConfigMap default/noise-2 was created' }),
  )
})

test('replay sends again what a sink got, in order for each object, and the ledger balances', async () => {
  for (const name of ['again-1', 'again-2']) await create(name)
  for (const version of [1, 2])
    await bed.kubernetes.request('PUT', `${CONFIG_MAPS}/again-1`, manifest(CONFIG_MAPS, 'again-1', version))
  await bed.kubernetes.request('DELETE', `${CONFIG_MAPS}/again-2`)
  await bed.allArrived()
  await bed.kubeherald.settled()
  const first = bed.hook.requests.filter(({ status }) => status === 200).map(({ body }) => JSON.parse(body))
  const { code, stdout, stderr } = await bed.kubeherald.command('replay', '--sink', 'hook', '--since', '1h')
  expect(code).toBe(0)
  expect(stderr).not.toContain('warning')
  expect(stdout).toMatch(new RegExp(`^${first.length} events go to hook again`))
  const { balanced, sinks } = await bed.kubeherald.settled()
  expect({ balanced, hook: sinks.hook }).toMatchObject({
    balanced: true,
    hook: { delivered: 2 * first.length, pending: 0 },
  })
  const again = bed.hook.requests.slice(first.length).map(({ body }) => JSON.parse(body))
  const ofObject = (all: any[]) => Map.groupBy(all, ({ subject }) => subject)
  const marked = first.map((it) => ({ ...it, replayed: true }))
  expect(ofObject(again)).toEqual(ofObject(marked))
})

test('a snapshot sends the present state of each object once, and not those that are gone', async () => {
  await create('state-1')
  await create('state-2')
  await bed.kubernetes.request('PUT', `${CONFIG_MAPS}/state-1`, manifest(CONFIG_MAPS, 'state-1', 1))
  await bed.kubernetes.request('DELETE', `${CONFIG_MAPS}/state-2`)
  await bed.allArrived()
  await bed.kubeherald.settled()
  const before = bed.hook.requests.length
  const { code, stdout } = await bed.kubeherald.command('replay', '--snapshot', '--sink', 'hook', '--json')
  const { balanced } = await bed.kubeherald.settled()
  const { items } = (await bed.kubernetes.request('GET', CONFIG_MAPS)) as any
  const states = bed.hook.requests.slice(before).map(({ body }) => JSON.parse(body))
  expect({ code, balanced, ...JSON.parse(stdout) }).toMatchObject({
    ...{ code: 0, balanced: true, objects: items.length, sent: items.length, newer: 0 },
  })
  const namesOf = (all: any[]) => all.map(({ name, resourceVersion }) => `${name}@${resourceVersion}`)
  expect(states.map((it) => `${it.name}@${it.resourceversion}`).toSorted()).toEqual(
    namesOf(items.map((it: any) => it.metadata)).toSorted(),
  )
  for (const it of states)
    expect(it).toMatchObject({ replayed: true, synthesized: true, data: { type: 'ADDED', rule: 'all' } })
})

test('backtest says what to do without a journal', async () => {
  desk.write('elsewhere.yaml', NEW(bed.redis.url).replace('cluster: test', 'cluster: elsewhere'))
  const { code, stderr } = await desk.run('backtest', '-c', 'elsewhere.yaml', '--rules', 'new.yaml')
  expect(code).toBe(1)
  expect(stderr).toContain('there is no journal: write "journal: { keep: 24h }"')
})
