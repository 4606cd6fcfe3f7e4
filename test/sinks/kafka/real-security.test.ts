import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAuthority } from '../../servers/certificates.ts'
import { type Kafka, startKafka } from '../../servers/kafka.ts'
import { readTopic } from '../../servers/kcat.ts'
import { DELIVERED, makeTopic, message, never, open } from './bed.ts'

const authority = createAuthority('brokers')
const clients = createAuthority('clients')
const stranger = createAuthority('stranger')
const PASSWORD = 'hunter2-s3cret'

let kafka: Kafka
beforeAll(async () => {
  kafka = await startKafka({
    tls: { certificate: authority.issue('kafka'), clientAuthority: clients.cert },
    users: { alice: PASSWORD },
  })
  await makeTopic(kafka.brokers, 'events')
})
afterAll(() => kafka[Symbol.asyncDispose]())

test.each(['plain', 'scram-sha-256', 'scram-sha-512'] as const)(
  'SASL %s: the right password is let in',
  async (mechanism) => {
    await using sink = await open({
      brokers: [...kafka.saslBrokers],
      topic: 'events',
      sasl: { mechanism, username: 'alice', password: PASSWORD },
    })
    expect(await sink.deliver([message({ event: { id: mechanism } })], never)).toEqual([DELIVERED])
    const ids = (await readTopic(kafka.brokers, 'events')).map(({ headers }) => headers['ce_id'])
    expect(ids).toContain(mechanism)
  },
)

test.each(['plain', 'scram-sha-256'] as const)(
  'SASL %s: a wrong password is an outage that says so, without it',
  async (mechanism) => {
    const logged: unknown[] = []
    const keep = (fields: object, text: string) => void logged.push(fields, text)
    const password = `${PASSWORD}-wrong`
    await using sink = await open(
      { brokers: [...kafka.saslBrokers], topic: 'events', sasl: { mechanism, username: 'alice', password } },
      { log: { debug: keep, info: keep, warn: keep, error: keep } },
    )
    for (let i = 0; i < 2; i++) {
      const [outcome] = await sink.deliver([message()], never)
      expect(outcome).toMatchObject({ kind: 'retry', reason: 'auth', scope: 'sink' })
      expect(JSON.stringify([outcome, logged])).not.toContain(PASSWORD)
    }
    expect(await sink.health?.(never)).toMatchObject({ ok: false, reason: 'auth' })
  },
)

test('no SASL where it is needed: an outage', async () => {
  await using sink = await open({ brokers: [...kafka.saslBrokers], topic: 'events', connectTimeout: '1s' })
  expect(await sink.deliver([message()], never)).toMatchObject([{ kind: 'retry', scope: 'sink' }])
})

test('mTLS: a known authority and a client certificate are let in', async () => {
  await using sink = await open({
    brokers: [...kafka.tlsBrokers],
    topic: 'events',
    tls: { ca: authority.cert, ...clients.issue('kubeherald') },
  })
  expect(await sink.deliver([message()], never)).toEqual([DELIVERED])
})

test('TLS: a certificate of an unknown authority is refused, whatever it costs', async () => {
  for (const tls of [true, { ca: stranger.cert, ...clients.issue('kubeherald') }]) {
    await using sink = await open({ brokers: [...kafka.tlsBrokers], topic: 'events', tls })
    expect(await sink.deliver([message()], never)).toMatchObject([
      { kind: 'retry', reason: 'config', scope: 'sink', detail: expect.stringContaining('TLS') },
    ])
  }
})

test('TLS: a client without certificate, or with that of a stranger, does not get in', async () => {
  for (const own of [{}, stranger.issue('kubeherald')]) {
    const tls = { ca: authority.cert, ...own }
    await using sink = await open({
      brokers: [...kafka.tlsBrokers],
      topic: 'events',
      tls,
      connectTimeout: '1s',
    })
    expect(await sink.deliver([message()], never)).toMatchObject([{ kind: 'retry', scope: 'sink' }])
  }
})

test('TLS to a port that speaks none, and none to one that speaks TLS: told, and in time', async () => {
  await using encrypted = await open({
    brokers: [...kafka.brokers],
    topic: 'events',
    tls: true,
    connectTimeout: '1s',
  })
  expect(await encrypted.deliver([message()], never)).toMatchObject([{ kind: 'retry', scope: 'sink' }])
  await using plain = await open({ brokers: [...kafka.tlsBrokers], topic: 'events', connectTimeout: '1s' })
  expect(await plain.deliver([message()], never)).toMatchObject([{ kind: 'retry', scope: 'sink' }])
})
