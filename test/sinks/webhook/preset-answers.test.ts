import { expect, test } from 'vitest'
import { presetType } from '../../../sinks/webhook/index.ts'
import type { PresetName } from '../../../sinks/webhook/presets/names.ts'
import { startReceiver } from '../../servers/receiver.ts'
import { openSink } from '../bed.ts'
import { createRocketChat, createTelegram } from './services/chats.ts'
import { SERVICES } from './services/index.ts'
import { createElasticsearch, createLoki } from './services/log-stores.ts'
import { json, named, openAt } from './services/service.ts'

const never = new AbortController().signal

/** Answers of services that mean the target of all messages, with the status of one that is bad. */
const FOR_THE_OPERATOR: [PresetName, number, object][] = [
  ['splunk', 400, { text: 'Data channel is missing', code: 10 }],
  ['splunk', 400, { text: 'Invalid data channel', code: 11 }],
  [
    'teams',
    400,
    { error: { code: 'WorkflowTriggerIsNotEnabled', message: "trigger 'manual' with state 'Deleted'" } },
  ],
  ['teams', 400, { error: { code: 'TriggerInputSchemaMismatch', message: 'did not match its schema' } }],
  ['mattermost', 400, { id: 'web.incoming_webhook.user.app_error', message: 'Couldn’t find the user' }],
  ['rocket-chat', 400, { success: false, error: 'invalid-channel' }],
  [
    'rocket-chat',
    400,
    { success: false, error: 'overriding destination channel is disabled for this integration' },
  ],
  [
    'discord',
    400,
    { message: 'Webhooks posted to forum channels must have a thread_name or thread_id', code: 220_001 },
  ],
  [
    'discord',
    400,
    {
      message: 'Invalid Form Body',
      code: 50_035,
      errors: { username: { _errors: [{ code: 'USERNAME_INVALID_CONTAINS' }] } },
    },
  ],
  ['telegram', 400, { ok: false, description: 'Bad Request: need administrator rights in the channel chat' }],
  ['telegram', 400, { ok: false, description: 'Bad Request: CHAT_SEND_PLAIN_FORBIDDEN' }],
  ['telegram', 400, { ok: false, description: 'Bad Request: PEER_ID_INVALID' }],
  ['grafana-oncall', 400, { error: 'This url is for integration with Formatted Webhook.' }],
  ['opsgenie', 402, { message: 'Your plan does not permit this' }],
]

test.each(FOR_THE_OPERATOR)(
  '%s: %i with %j is for the operator, and rejects nothing',
  async (name, status, body) => {
    await using hook = await startReceiver()
    const service = SERVICES.map((create) => create()).find((it) => it.name === name)!
    await using sink = await openAt(service, hook)
    hook.answer(() => json(status, body))
    const outcomes = await sink.deliver(named(2), never)
    expect(outcomes).toMatchObject(
      Array(2).fill({ kind: 'retry', reason: expect.stringMatching(/^(config|auth)$/), scope: 'sink' }),
    )
  },
)

test.each(SERVICES.map((create) => create()).map((it) => [it.name, it] as const))(
  '%s: an answer that is about one message rejects that message',
  async (_, service) => {
    await using hook = await startReceiver()
    await using sink = await openAt(service, hook)
    hook.answer(() => service.refusal ?? json(400, { error: 'the title has an invalid character' }))
    expect(await sink.deliver(named(1), never)).toMatchObject([{ kind: 'rejected' }])
  },
)

test('telegram: a tag of the configuration that looks like a code of a chat rejects the message', async () => {
  await using hook = await startReceiver()
  await using sink = await openAt(createTelegram(), hook)
  const description = `Bad Request: can't parse entities: Unsupported start tag "chat_x" at byte offset 3`
  hook.answer(() => json(400, { ok: false, error_code: 400, description }))
  expect(await sink.deliver(named(1), never)).toMatchObject([{ kind: 'rejected' }])
})

test('telegram: a chat that is gone is for the operator, and rejects nothing', async () => {
  await using hook = await startReceiver()
  const service = createTelegram()
  await using sink = await openAt(service, hook, { ...service.options, chatId: '@elsewhere' })
  expect(await sink.deliver(named(2), never)).toMatchObject(
    Array(2).fill({ kind: 'retry', reason: 'config', scope: 'sink' }),
  )
})

test('telegram: the body has how long to wait', async () => {
  await using hook = await startReceiver()
  const service = createTelegram()
  await using sink = await openAt(service, hook)
  hook.answer(() => json(429, { ok: false, error_code: 429, parameters: { retry_after: 34 } }))
  expect(await sink.deliver(named(1), never)).toMatchObject([{ kind: 'retry', afterMs: 34_000 }])
})

test.each([
  [
    'validation_exception',
    'this action would add [2] shards, but this cluster currently has [1000]/[1000] maximum normal shards open;',
  ],
  [
    'illegal_argument_exception',
    'Validation Failed: 1: this action would add [3] total shards, but this cluster currently has [56]/[1] maximum shards open;',
  ],
  ['index_closed_exception', 'closed'],
  ['illegal_argument_exception', 'no write index is defined for alias [kubeherald]'],
  ['illegal_argument_exception', 'pipeline with id [kubeherald] does not exist'],
  ['illegal_argument_exception', 'Limit of total fields [1000] has been exceeded'],
  ['mapper_parsing_exception', 'failed to parse', 'Limit of total fields [1000] has been exceeded'],
  [
    'strict_dynamic_mapping_exception',
    'mapping set to strict, dynamic introduction of [logs] within [_doc] is not allowed',
  ],
])('elasticsearch: a fault of the index makes no dead letters: %s, %s', async (type, reason, cause = '') => {
  await using hook = await startReceiver()
  const { service } = createElasticsearch()
  await using sink = await openAt(service, hook)
  hook.answer(({ path }) => {
    const asked = path.includes('items.*.error.caused_by.reason')
    const error = { type, reason, ...(cause && asked && { caused_by: { reason: cause } }) }
    return json(200, { errors: true, items: [{ create: { status: 400, error } }] })
  })
  expect(await sink.deliver(named(1), never)).toMatchObject([
    { kind: 'retry', reason: 'config', scope: 'event', detail: expect.stringContaining(cause || reason) },
  ])
})

test.each([
  'connection 397 to 10.0.0.7:27017 timed out',
  'room_is_archived',
  "You can't send messages because the room is readonly.",
])('rocket-chat: 400, its answer to every fault, makes no dead letter: %s', async (error) => {
  await using hook = await startReceiver()
  const service = createRocketChat()
  await using sink = await openAt(service, hook)
  hook.answer(() => json(400, { success: false, error }))
  expect(await sink.deliver(named(1), never)).toMatchObject([
    { kind: 'retry', reason: 'server-error', scope: 'event', detail: expect.stringContaining(error) },
  ])
})

test('loki: 260, its answer while the ingestion of a tenant is blocked, delivers nothing', async () => {
  await using hook = await startReceiver()
  await using sink = await openAt(createLoki().service, hook)
  hook.answer(() => ({ status: 260, body: 'ingestion blocked for user shop until 2026-01-01T00:00:00Z' }))
  expect(await sink.deliver(named(2), never)).toMatchObject(
    Array(2).fill({ kind: 'retry', reason: 'config', scope: 'sink' }),
  )
})

test('discord: a message that is not saved, which it reports only to requests that wait, is not delivered', async () => {
  await using hook = await startReceiver()
  await using sink = await openSink(await presetType('discord'), { url: `${hook.url}?thread_id=1` })
  hook.answer(({ path }) => {
    const query = new URL(path, 'http://x').searchParams
    return { status: query.get('wait') === 'true' && query.get('thread_id') === '1' ? 500 : 204 }
  })
  expect(await sink.deliver(named(1), never)).toMatchObject([{ kind: 'retry', reason: 'server-error' }])
})
