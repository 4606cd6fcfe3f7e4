import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'vitest'
import { z } from 'zod'
import { openApi } from '../../../src/app/api/openapi.ts'
import { type App, startApp } from '../../../src/app/app.ts'
import { type Logger, silentLog } from '../../../src/observe/log.ts'
import { defineSink, type Message, type Outcome, type SinkType } from '../../../src/sink/index.ts'
import { allSinks } from '../../../src/sink-types.ts'
import { keysOf } from '../../../src/store/keys.ts'
import { connectCluster } from '../../../src/watch/client/connect.ts'
import { loadText } from '../../config/load-text.ts'
import { type RedisServer, startRedis } from '../../servers/redis.ts'
import { configMap, startScriptedApi, type WatchConnection } from '../../servers/scripted-api.ts'
import { waitFor } from '../../wait-for.ts'
import { kubeconfigFor } from '../../watch/bed.ts'

/** The names of objects decide: `bad-…` is refused for good, `odd-…` fails while others pass. */
function outcomeOf({ event }: Message): Outcome {
  if (event.name.startsWith('bad-')) return { kind: 'rejected', reason: 'rejected', detail: 'not wanted' }
  if (!event.name.startsWith('odd-')) return { kind: 'delivered' }
  return { kind: 'retry', reason: 'server-error', detail: '500 Internal Server Error', scope: 'event' }
}

const scripted = defineSink({
  apiVersion: 1,
  type: 'scripted',
  config: z.strictObject({ target: z.string().default('#shop'), showsChanges: z.boolean().default(false) }),
  showsChanges: ({ showsChanges }) => showsChanges,
  preview: (_message, { target }) => ({ target }),
  plain: (text) => text.replaceAll('*', ''),
  open: (_config, { name }) => ({
    deliver: async (batch) => {
      // What the reader sees first is read by most sinks.
      for (const { content } of batch) void content.title
      return batch.map(outcomeOf)
    },
    warnings: () => (name === 'other' ? ['buttons have not worked for 3 min'] : []),
    async close() {},
  }),
})

export interface ApiBed extends AsyncDisposable {
  app: App
  redis: RedisServer
  keys: ReturnType<typeof keysOf>
  url: string
  port: number
  /** A change of a ConfigMap, as the API server sends it. */
  change(type: 'ADDED' | 'MODIFIED' | 'DELETED', namespace: string, name: string, more?: object): void
  /** The answer of an operation, held against the OpenAPI document. */
  get(path: string, headers?: Record<string, string>): Promise<any>
  ask(path: string, options?: RequestInit): Promise<{ status: number; headers: Headers; body: any }>
}

export const SINKS = `{ good: { type: scripted }, slow: { type: scripted }, "other": { type: scripted, target: "\${env:TARGET}" } }`
const RULES = `
  - { name: everything, to: [good] }
  - { name: rarely, when: { name: [web, "news-*"] }, to: [slow], throttle: { every: 1h }, message: { title: "*{{ name }}* changed" } }
  - { name: news, when: { name: "news-*" }, changed: data.step, to: [{ other: {} }] }`

/** A whole process in this one, on a real Redis and a scripted API server. */
export async function startApiBed(
  options: { server?: string; sinks?: string; rules?: string; log?: Logger; redisArgs?: string[] } = {},
): Promise<ApiBed> {
  await using stack = new AsyncDisposableStack()
  const redis = stack.use(await startRedis({ args: options.redisArgs ?? [] }))
  const api = stack.use(await startScriptedApi())
  const open = new Set<WatchConnection>()
  api.script((connection) => void open.add(connection))
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-api-'))
  stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  const kubeconfig = join(dir, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigFor(api.url))
  const { server = '{ port: 0 }', sinks = SINKS, rules = RULES, log = silentLog } = options
  const text = `redis: { url: "${redis.url}" }\nserver: ${server}\nwatch: [ConfigMap]\njournal: { keep: 1h }\nsinks: ${sinks}\nrules: ${rules}\n`
  const loaded = await loadText(text, {
    env: { TARGET: 'secret-target', TOKEN: TOKENS.reader, ACTOR: TOKENS.actor, SHOP: TOKENS.shop },
    sinkTypes: { ...allSinks, scripted: async () => scripted as SinkType },
  })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const client = connectCluster({ kubeconfig, env: {}, userAgent: 'test' })
  stack.defer(() => client.close())
  const app = await startApp({
    ...{ config: loaded.config, cluster: 'test', role: 'all', redis: { url: redis.url }, client, log },
    sinkTypes: { scripted: scripted as SinkType },
  })
  stack.defer(async () => void (await app.stop()))
  await waitFor(() => open.size > 0, { what: 'the watch' })
  const url = app.url as string
  let version = 100
  const ask: ApiBed['ask'] = async (path, init) => {
    const response = await fetch(url + path, init)
    const raw = await response.text()
    const isJson = /json/.test(response.headers.get('content-type') ?? '')
    return {
      status: response.status,
      headers: response.headers,
      body: isJson && raw !== '' ? JSON.parse(raw) : raw,
    }
  }
  const moved = stack.move()
  return {
    ...{ app, redis, keys: keysOf('test'), url, port: Number(new URL(url).port), ask },
    change(type, namespace, name, more = {}) {
      version++
      const object = {
        ...configMap(name, version, { namespace, uid: `uid-of-${namespace}-${name}` }),
        data: { step: String(version) },
        ...more,
      }
      for (const connection of open) connection.frame(type, object)
    },
    async get(path, headers = {}) {
      const { status, body } = await ask(path, { headers })
      expect({ path, status, body: status === 200 ? 'fine' : body }).toEqual({
        path,
        status: 200,
        body: 'fine',
      })
      expectSchema('get', path, body)
      return body
    },
    ask,
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  }
}

export const TOKENS = {
  reader: 'reader-0123456789abcdef',
  actor: 'actor-0123456789abcdefg',
  shop: 'shop-0123456789abcdefgh',
}
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
export const WITH_TOKENS =
  '{ port: 0, tokens: [{ name: reader, token: "${env:TOKEN}" }, { name: actor, role: act, token: "${env:ACTOR}" }, { name: shop, role: act, token: "${env:SHOP}", namespaces: [shop] }] }'

const document = openApi() as any
const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)
ajv.addSchema(document, 'openapi.json')

/** Holds an answer against the schema that the document has for its path. */
export function expectSchema(method: string, path: string, body: unknown): void {
  const [plain = ''] = path.split('?')
  const template = Object.keys(document.paths)
    .filter((it) => new RegExp(`^${it.replace(/\{\w+\}/g, '[^/]+')}$`).test(plain))
    .toSorted((a, b) => a.split('{').length - b.split('{').length)
    .find((it) => document.paths[it][method])
  if (template === undefined) throw new Error(`no operation for ${method} ${path}`)
  const pointer = template
    .replaceAll('~', '~0')
    .replaceAll('/', '~1')
    .replaceAll('{', '%7B')
    .replaceAll('}', '%7D')
  const validate = ajv.getSchema(
    `openapi.json#/paths/${pointer}/${method}/responses/200/content/application~1json/schema`,
  )
  if (!validate) throw new Error(`no schema for ${method} ${path}`)
  validate(body)
  expect({ path, errors: validate.errors ?? [] }).toEqual({ path, errors: [] })
}
