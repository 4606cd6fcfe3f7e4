import { expect, test } from 'vitest'
import { type Certificate, createAuthority } from '../../servers/certificates.ts'
import { startFakeCluster } from '../../servers/fake-broker.ts'
import { DELIVERED, deliverAll, message, never, open } from './bed.ts'

const authority = createAuthority('brokers')
const certificate = authority.issue('kafka')

test.each<[string, { certificate?: Certificate; password?: string }]>([
  ['TCP', {}],
  ['TLS', { certificate }],
  ['TLS and SASL', { certificate, password: 'secret' }],
])(
  'a request over %s that was given up does not arrive behind later ones',
  async (_, { certificate, password }) => {
    await using cluster = await startFakeCluster({ events: [0] }, 1, certificate)
    cluster.password = password
    await using sink = await open({
      brokers: cluster.brokers,
      topic: 'events',
      compression: 'none',
      format: 'object',
      timeout: '500ms',
      connectTimeout: '500ms',
      ...(certificate && { tls: { ca: authority.cert } }),
      ...(password && { sasl: { mechanism: 'plain', username: 'herald', password } }),
    })
    await deliverAll(sink, [message({ uid: 'u', object: { n: 0 } })])
    const resume = cluster.pause()
    // More than the broker's system takes while the broker reads nothing.
    const large = message({ uid: 'u', object: { n: 1, data: 'x'.repeat(700_000) } })
    expect(await sink.deliver([large], never)).toMatchObject([{ kind: 'retry', ambiguous: true }])
    // Metadata, too, are asked for on a connection that is not the old one.
    expect(await sink.deliver([message({ uid: 'u', object: { n: 2 } })], never)).toEqual([DELIVERED])
    await resume()
    const values = cluster.log.map(({ value }) => JSON.parse(value ?? 'null').n)
    expect(values).not.toContain(1)
    expect(values.at(-1)).toBe(2)
  },
)
