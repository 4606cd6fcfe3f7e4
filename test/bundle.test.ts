import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
// @ts-expect-error a script without types
import { MALLOC, NODE_FLAGS } from '../deploy/build/node-flags.mjs'
import { type Elsewhere, installElsewhere } from './packed.ts'
import { startOtlpReceiver } from './servers/otlp.ts'
import { startProgram } from './servers/process.ts'
import { startRedis } from './servers/redis.ts'
import { waitFor } from './wait-for.ts'

/** Texts that are in the code of a library or preset and nowhere else. */
const MARKS = {
  kafkajs: 'KafkaJSNumberOfRetriesExceeded',
  nodemailer: 'all recipients were rejected',
  '@slack/web-api': 'files.completeUploadExternal',
  '@slack/socket-mode': 'Going to retrieve a new WSS URL',
  liquidjs: 'TablerowloopDrop',
  '@opentelemetry/sdk-trace': 'maxQueueSize reached, dropping spans',
  '@opentelemetry/exporter-trace-otlp-proto': 'application/x-protobuf',
  'the preset loki': '/loki/api/v1/push',
  'the preset elasticsearch': 'items.*.status',
  'the preset telegram': 'upgraded to a supergroup',
  'the API': 'requests of other sites are not allowed',
}

/** The same of what the program needs, and the library does not. */
const MARKS_OF_PROGRAM = {
  ioredis: 'MaxRetriesPerRequestError',
  bullmq: 'moveToActive',
  re2js: 'RE2JSSyntaxException',
  zod: 'ZodError',
  'prom-client': 'process_start_time_seconds',
  pino: 'pino.serializers',
  'the store': 'HSET',
  'sinks of our own': 'deliverInOrder',
}

/** Prints what is loaded, one address a line. */
const LOADS = `
import { registerHooks } from 'node:module'
const loads = []
registerHooks({ load(url, context, next) { loads.push(url); return next(url, context) } })
process.on('exit', () => console.log(loads.join('\\n')))
`

/** Prints how the command started Node. */
const STARTED = `
const { execArgv, argv, env } = process
const malloc = Object.entries(env).filter(([name]) => name.startsWith('MALLOC_')).sort()
console.log(JSON.stringify({ execArgv, args: argv.slice(2), malloc }))
`

let elsewhere: Elsewhere

beforeAll(() => {
  elsewhere = installElsewhere()
  writeFileSync(join(elsewhere.folder, 'loads.mjs'), LOADS)
})
afterAll(() => elsewhere[Symbol.dispose]())

/** The libraries in these files of what ships. */
function librariesIn(files: readonly string[]): string[] {
  const code = files.map((file) => readFileSync(join(dirname(elsewhere.main), file), 'utf8')).join('\n')
  return Object.entries(MARKS).flatMap(([library, mark]) => (code.includes(mark) ? [library] : []))
}

/** The libraries that a check of this configuration loads. */
function loadedFor(config: string): string[] {
  writeFileSync(join(elsewhere.folder, 'kubeherald.yaml'), config)
  const args = [
    '--import',
    './loads.mjs',
    elsewhere.main,
    'check',
    '--offline',
    '--config',
    'kubeherald.yaml',
  ]
  const { status, output } = elsewhere.node(elsewhere.folder, ...args)
  expect(status, output).toBe(0)
  return librariesLoaded(output)
}

function librariesLoaded(output: string): string[] {
  return librariesIn(filesLoaded(output))
}

function filesLoaded(output: string): string[] {
  const dist = /\/dist\/(\S+\.js)$/gm
  const files = [...output.matchAll(dist)].map((it) => it[1] as string)
  expect(files).toContain('main.js')
  return files
}

const configOf = (sink: string, message = '') =>
  `watch: [Pod]\nsinks: { out: ${sink} }\nrules: [{ name: all, to: [out]${message} }]\n`

const WITH_BUTTONS =
  '{ type: slack, token: xoxb-1111111111-fake, channel: "#shop", actions: { appToken: xapp-1-A1-fake, anyone: true } }'

test('what ships has the libraries', () => {
  const all = readdirSync(dirname(elsewhere.main)).filter((file) => file.endsWith('.js'))
  expect(librariesIn(all)).toEqual(Object.keys(MARKS))
  const code = all.map((file) => readFileSync(join(dirname(elsewhere.main), file), 'utf8')).join('\n')
  expect(Object.entries(MARKS_OF_PROGRAM).filter(([, mark]) => !code.includes(mark))).toEqual([])
})

test('the command runs in any POSIX shell: env of BusyBox has no -S', () => {
  expect(readFileSync(elsewhere.main, 'utf8').split('\n')[0]).toBe('#!/bin/sh')
  writeFileSync(join(elsewhere.folder, 'started.mjs'), STARTED)
  const link = join(elsewhere.folder, 'a link')
  symlinkSync(elsewhere.main, link)
  const env = {
    PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
    NODE_OPTIONS: `--import ${join(elsewhere.folder, 'started.mjs')}`,
  }
  for (const [command, ...args] of [[link], ['sh', link]] as const) {
    const { status, stdout, stderr } = spawnSync(command, [...args, 'no-command', 'a b'], {
      env,
      encoding: 'utf8',
    })
    const [started = ''] = stdout.split('\n')
    expect(status, stderr).toBe(2)
    expect(JSON.parse(started)).toEqual({
      execArgv: NODE_FLAGS,
      args: ['no-command', 'a b'],
      malloc: Object.entries(MALLOC).sort(),
    })
  }
})

test.each([
  ['stdout', configOf('{ type: stdout }'), []],
  ['a template', configOf('{ type: stdout }', ', message: "{{ name }}"'), ['liquidjs']],
  ['Kafka', configOf('{ type: kafka, brokers: ["k:9092"], topic: t }'), []],
  ['email', configOf('{ type: email, host: smtp, from: a@example.com, to: b@example.com }'), []],
  ['Loki', configOf('{ type: loki, url: "http://loki:3100" }'), ['the preset loki']],
  ['Slack', configOf('{ type: slack, token: xoxb-1111111111-fake, channel: "#shop" }'), []],
  ['Slack with buttons', configOf(WITH_BUTTONS), []],
])('a check of %s loads the libraries that it needs and no other', (_, config, libraries) => {
  expect(loadedFor(config)).toEqual(libraries)
})

test.each([
  ['nothing of OpenTelemetry', {}, []],
  ['nothing of it when it is disabled', { OTEL_TRACES_EXPORTER: 'otlp', OTEL_SDK_DISABLED: 'true' }, []],
  [
    "OpenTelemetry's SDK and one exporter",
    { OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' },
    ['@opentelemetry/sdk-trace', '@opentelemetry/exporter-trace-otlp-proto'],
  ],
])('a run loads %s, by its environment', async (_, env, libraries) => {
  await using redis = await startRedis()
  const config = `cluster: test\nserver: { port: 0 }\nredis: { url: "${redis.url}" }\n${configOf('{ type: stdout }')}`
  writeFileSync(join(elsewhere.folder, 'kubeherald.yaml'), config)
  const args = [
    '--import',
    './loads.mjs',
    elsewhere.main,
    'run',
    '--role',
    'deliver',
    '-c',
    'kubeherald.yaml',
  ]
  const program = startProgram(process.execPath, args, {
    cwd: elsewhere.folder,
    env: { ...process.env, ...env },
  })
  await waitFor(() => /kubeherald .* started/.test(program.output()) || program.ended(), {
    timeoutMs: 60_000,
    what: () => `a start; it said ${program.output()}`,
  })
  await program.end('SIGTERM')
  expect(librariesLoaded(program.output())).toEqual(libraries)
  // To find, read and join files takes a good part of a start.
  if (libraries.length === 0) expect(filesLoaded(program.output()).length).toBeLessThan(20)
})

test('kubeherald/watch is one file, without sinks, store, rules and metrics', () => {
  writeFileSync(join(elsewhere.folder, 'library.mjs'), "import 'kubeherald/watch'\n")
  const { status, output } = elsewhere.node(elsewhere.folder, '--import', './loads.mjs', 'library.mjs')
  expect(status, output).toBe(0)
  const files = [...output.matchAll(/\/(?:dist|node_modules)\/(\S+\.[cm]?js)$/gm)].map(
    (it) => it[1] as string,
  )
  expect(files).toEqual(['kubeherald/dist/watch.js'])
  const code = readFileSync(join(dirname(elsewhere.main), 'watch.js'), 'utf8')
  const marks = { ...MARKS, ...MARKS_OF_PROGRAM }
  expect(Object.entries(marks).filter(([, mark]) => code.includes(mark))).toEqual([])
})

test('what ships reads its file again in a thread of its own', async () => {
  await using redis = await startRedis()
  const file = join(elsewhere.folder, 'followed.yaml')
  const write = (name: string) =>
    writeFileSync(
      file,
      `cluster: test
server: false
redis: { url: "${redis.url}" }
include: [kubeherald:nodes]
watch: [Pod, Node]
sinks: { out: { type: webhook, preset: mattermost, url: "http://127.0.0.1:9/" } }
defaults: { to: out }
rules: [{ name: ${name}, message: "{{ name }}" }]
`,
    )
  write('one')
  const args = [elsewhere.main, 'run', '--role', 'deliver', '-c', file]
  const program = startProgram(process.execPath, args, { cwd: elsewhere.folder })
  const said = (text: string) =>
    waitFor(() => program.output().includes(text) || program.ended(), {
      timeoutMs: 60_000,
      what: () => `${text}; it said ${program.output()}`,
    })
  await said('started')
  expect(program.ended(), program.output()).toBe(false)
  write('two')
  process.kill(program.pid, 'SIGHUP')
  await said('configuration reloaded')
  expect(program.output()).toMatch(/configuration reloaded: rules changed/)
  write('Three')
  process.kill(program.pid, 'SIGHUP')
  await said('is not good')
  expect(program.output()).toContain('followed.yaml:8:17:')
  await program.end('SIGTERM')
})

test('what ships exports traces', async () => {
  await using otlp = await startOtlpReceiver()
  const env = { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url, OTEL_BSP_SCHEDULE_DELAY: '50' }
  const program = startProgram(process.execPath, [elsewhere.main, 'demo'], { cwd: elsewhere.folder, env })
  const exported = () => otlp.spans.some(({ name }) => name.startsWith('deliver '))
  await waitFor(() => exported() || program.ended(), {
    timeoutMs: 60_000,
    what: () => `spans; ${otlp.faults} ${program.output().slice(-2_000)}`,
  })
  expect(program.ended(), program.output()).toBe(false)
  await program.end('SIGTERM')
  expect(otlp.faults).toEqual([])
  expect(new Set(otlp.spans.map(({ resource }) => resource['service.name']))).toEqual(new Set(['kubeherald']))
})
