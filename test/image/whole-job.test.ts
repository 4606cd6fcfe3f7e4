import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findings } from '../../deploy/image/scan.ts'
import { entriesOf } from '../../deploy/image/tar.ts'
import manifest from '../../package.json' with { type: 'json' }
import { startDemoCluster } from '../../src/demo/cluster.ts'
import { startFakeCluster } from '../servers/fake-broker.ts'
import { freePort } from '../servers/ports.ts'
import { startProgram } from '../servers/process.ts'
import { startReceiver } from '../servers/receiver.ts'
import { startRedis } from '../servers/redis.ts'
import { startSlack } from '../servers/slack.ts'
import { waitFor } from '../wait-for.ts'
import { type FinalStage, makeFinalStage } from './final-stage.ts'

let stage: FinalStage
let folder: string
beforeAll(() => {
  stage = makeFinalStage()
  folder = mkdtempSync(join(tmpdir(), 'kubeherald-mounted-'))
  chmodSync(folder, 0o755)
})
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  stage[Symbol.dispose]()
})

/**
 * As a container of the image runs: nothing but its files, no home, no PATH, the user of the image where this process may
 * choose one. Node's permissions stand for the read-only root: no writing, no programs, no native code, no threads.
 */
function start(...args: string[]) {
  const user = process.getuid?.() === 0 ? { uid: 65532, gid: 65532 } : {}
  const node = [
    ...stage.nodeArgs.slice(0, -1),
    '--permission',
    '--allow-fs-read=*',
    stage.nodeArgs.at(-1) as string,
  ]
  return startProgram(stage.node, [...node, ...args], { ...user, cwd: '/', env: stage.env })
}

test('its files are the bundle, its licences and its manifest, and nobody may write to them', () => {
  const app = join(stage.root, 'app')
  expect(readdirSync(stage.root)).toEqual(['app', 'home'])
  const names = readdirSync(app)
  expect(names).toEqual(
    expect.arrayContaining([
      'LICENSE',
      'THIRD_PARTY_LICENSES.txt',
      'liquid.js',
      'main.js',
      'package.json',
      'rule-sets',
      'sink.js',
    ]),
  )
  const other =
    /^(kubeherald(-included)?\.schema\.json|LICENSE|THIRD_PARTY_LICENSES\.txt|package\.json|[\w-]+\.js(\.LEGAL\.txt)?)$/
  const isSet = (name: string) => name === 'rule-sets' || /^rule-sets\/[\w-]+\.yaml$/.test(name)
  const isPage = (name: string) => /^page(\/assets)?(\/[\w-]+\.(html|js|css|svg|json))?$/.test(name)
  const filesOf = (name: string) =>
    readdirSync(join(app, name), { recursive: true }).map((file) => `${name}/${file}`)
  const [sets, page] = [filesOf('rule-sets'), filesOf('page')]
  const files = [...names, ...sets, ...page]
  expect(files.filter((name) => !other.test(name) && !isSet(name) && !isPage(name))).toEqual([])
  expect(page).toContain('page/index.html')
  expect(sets.length).toBeGreaterThan(5)
  expect(existsSync(join(app, 'node_modules'))).toBe(false)
})

test('a scan of them finds nothing that should not be there', () => {
  const tar = spawnSync('tar', ['-C', stage.root, '--owner=0', '--group=0', '-c', '.'], { maxBuffer: 1e9 })
  const entries = entriesOf(tar.stdout)
  expect(entries.find(({ path }) => path === 'app/main.js')).toMatchObject({ mode: 0o555, uid: 0 })
  expect(findings(entries, Object.keys(manifest.devDependencies))).toEqual([])
})

test('it starts with the flags of the installed command', () => {
  const [, command] = readFileSync(join(stage.root, 'app/main.js'), 'utf8').split('\n')
  const flags = stage.nodeArgs.slice(0, -1).join(' ')
  expect(command).toMatch(new RegExp(`; export( MALLOC_\\w+=\\d+)+; exec node ${flags} "\\$0" "\\$@"$`))
})

test('the licences are of every package that is bundled, and none asks for more than to be told', () => {
  const titles = readFileSync(join(stage.root, 'app/THIRD_PARTY_LICENSES.txt'), 'utf8').matchAll(
    /^---- (\S+) \S+ \((.*)\)$/gm,
  )
  const licences = new Map([...titles].map(([, name, licence]) => [name, licence]))
  expect([...licences.keys()]).toEqual(
    expect.arrayContaining(['bullmq', 'kafkajs', '@slack/web-api', 'liquidjs', 're2js']),
  )
  expect(
    [...new Set(licences.values())].filter(
      (it) => !/^(MIT(-0)?|ISC|0BSD|Apache-2\.0|BSD-[23]-Clause|Unlicense)$/.test(it ?? ''),
    ),
  ).toEqual([])
})

test('built once more it is the same, byte for byte', () => {
  const other = join(folder, 'app')
  const built = spawnSync(process.execPath, ['deploy/build/bundle.mjs', other, '--without-types'], {
    cwd: stage.source,
  })
  expect(built.status, String(built.stderr)).toBe(0)
  const { stdout } = spawnSync('diff', ['-rq', join(stage.root, 'app'), other], { encoding: 'utf8' })
  const differences = stdout
    .split('\n')
    .filter((line) => line !== '' && !/^Only in .*: (LICENSE|package\.json|sink)$/.test(line))
  expect(differences).toEqual([])
})

test('without a configuration it says which file is missing', async () => {
  const program = start('run')
  await waitFor(() => program.ended(), { timeoutMs: 60_000, what: () => program.output() })
  expect(program.output()).toBe(
    'kubeherald: cannot read the configuration /etc/kubeherald/kubeherald.yaml: there is no such file\n',
  )
})

test('it does the whole job: watch, rules, templates, Redis, webhook, Slack and Kafka, and stops on SIGTERM', async () => {
  await using redis = await startRedis()
  await using cluster = await startDemoCluster({ random: Math.random, clock: Date })
  await using hook = await startReceiver()
  await using slack = await startSlack({ perSecond: 100, burst: 1_000 })
  await using kafka = await startFakeCluster({ events: [0] })
  slack.channel('shop')
  const kubeconfig = readFileSync(cluster.kubeconfig)
  writeFileSync(join(folder, 'kubeconfig'), kubeconfig, { mode: 0o444 })
  writeFileSync(join(folder, 'token'), slack.token, { mode: 0o444 })
  const port = await freePort()
  const config = join(folder, 'kubeherald.yaml')
  writeFileSync(
    config,
    `cluster: image
kubernetes: { kubeconfig: kubeconfig }
redis: { url: "${redis.url}" }
server: { port: ${port} }
watch: [Event, Pod, Deployment]
sinks:
  hook: { type: webhook, url: "${hook.url}/{{ kind }}" }
  chat: { type: slack, token: "\${file:token}", apiUrl: ${slack.apiUrl}, channel: "#shop" }
  bus: { type: kafka, brokers: ${JSON.stringify(kafka.brokers)}, topic: events, compression: none }
  screen: { type: stdout }
rules: [{ name: all, to: [hook, chat, bus, screen], message: "{{ kind }} {{ name }} changed" }]
`,
    { mode: 0o444 },
  )
  const check = start('check', '--config', config)
  await waitFor(() => check.ended(), { timeoutMs: 60_000, what: () => check.output() })
  expect(check.output()).toContain(`${config} is good`)

  const program = start('run', '--config', config)
  const requests = () => hook.requests.filter(({ status }) => status === 200)
  await waitFor(() => requests().length > 3 && slack.messages.length > 3 && kafka.log.length > 3, {
    timeoutMs: 60_000,
    what: () => `deliveries everywhere; ${program.output().slice(-1_000)}`,
  })
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200)
  expect(requests()[0]?.path).toMatch(/^\/hook\/(Event|Pod|Deployment)$/)
  expect(slack.messages[0]?.text).toContain('changed')
  expect(program.output()).not.toMatch(/ERR_ACCESS_DENIED|EACCES|EROFS/)
  await program.end('SIGTERM')
  expect(program.output()).toContain('kubeherald stopped: ')
})
