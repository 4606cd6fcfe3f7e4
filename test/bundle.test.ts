import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Elsewhere, installElsewhere } from './packed.ts'

/** Words that stand in a library's code and nowhere else. */
const MARKS = {
  kafkajs: 'KafkaJSNumberOfRetriesExceeded',
  '@slack/web-api': 'files.completeUploadExternal',
  liquidjs: 'TablerowloopDrop',
}

/** Prints what is loaded, one address a line. */
const LOADS = `
import { registerHooks } from 'node:module'
const loads = []
registerHooks({ load(url, context, next) { loads.push(url); return next(url, context) } })
process.on('exit', () => console.log(loads.join('\\n')))
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
  const dist = /\/dist\/(\S+\.js)$/gm
  const files = [...output.matchAll(dist)].map((it) => it[1] as string)
  expect(files).toContain('main.js')
  return librariesIn(files)
}

const configOf = (sink: string, message = '') =>
  `watch: [Pod]\nsinks: { out: ${sink} }\nrules: [{ name: all, to: [out]${message} }]\n`

test('what ships has the libraries', () => {
  const all = readdirSync(dirname(elsewhere.main)).filter((file) => file.endsWith('.js'))
  expect(librariesIn(all)).toEqual(Object.keys(MARKS))
})

test.each([
  ['stdout', configOf('{ type: stdout }'), []],
  ['a template', configOf('{ type: stdout }', ', message: "{{ name }}"'), ['liquidjs']],
  ['Kafka', configOf('{ type: kafka, brokers: ["k:9092"], topic: t }'), []],
  ['Slack', configOf('{ type: slack, token: xoxb-1111111111-fake, channel: "#shop" }'), []],
])('a check of %s loads the libraries that it needs and no other', (_, config, libraries) => {
  expect(loadedFor(config)).toEqual(libraries)
})
