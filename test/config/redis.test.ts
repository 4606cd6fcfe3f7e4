import { expect, test } from 'vitest'
import { createAuthority } from '../servers/certificates.ts'
import { problemsOf } from './load-text.ts'

/** The configuration whose line 4 is `redis:`. */
const withRedis = (redis: string) =>
  `watch: [Event]\nsinks: { s: { type: stdout } }\nrules: [{ name: all, to: s }]\nredis: ${redis}`

const SENTINEL = 'sentinel: { name: main, nodes: [a:26379, b] }'

test.each([
  '{ url: "redis://kh:hidden@redis/1" }',
  '{ url: "redis://redis:6379", username: kh, password: hidden }',
  '{ url: "rediss://redis:6380", tls: true }',
  `{ ${SENTINEL}, username: kh, password: hidden, tls: true }`,
  '{ sentinel: { name: main, nodes: ["[::1]:26379"], password: hidden, tls: { servername: s.example } } }',
  '{ cluster: { nodes: [redis-0:6379, 10.0.0.1] }, tls: { servername: redis.example } }',
])('a good way to Redis: %s', async (redis) => {
  expect(await problemsOf(withRedis(redis))).toEqual([])
})

test.each([
  [`{ url: "redis://a", ${SENTINEL} }`, ['"sentinel" cannot be combined with "url": use one of them']],
  [
    `{ ${SENTINEL}, cluster: { nodes: [a] } }`,
    ['"cluster" cannot be combined with "sentinel": use one of them'],
  ],
  ['{ password: hidden }', ['"password" needs "url", "sentinel" or "cluster" in the same map']],
  ['{ tls: true }', ['"tls" needs "url", "sentinel" or "cluster" in the same map']],
  [
    '{ url: "redis://kh:hidden@a", password: other }',
    ['"password" is already set in "url": remove one of them'],
  ],
  ['{ url: "redis://a", tls: true }', ['"tls" does not go with this url']],
  ['{ url: "unix:///run/redis.sock", tls: true }', ['"tls" does not go with this url']],
  ['{ cluster: { nodes: [] } }', ['"nodes" is an empty list: name some, such as [redis-0:6379]']],
  [
    '{ cluster: { nodes: ["redis://a:1"] } }',
    ['"nodes", entry 1 is not an address: write host:port, such as redis-0:6379'],
  ],
  ['{ sentinel: { name: main, nodes: [a:99999] } }', ['"nodes", entry 1 is not an address: write host:port']],
  ['{ sentinel: { nodes: [a] } }', ['"name" is missing']],
  ['{ cluster: { nodes: [a] }, username: kh }', ['"username" needs "password" in the same map']],
  ['{ cluster: { nodes: [a] }, tls: { ca: hidden } }', ['"ca" has no certificate; must be PEM text']],
  [
    '{ cluster: { nodes: [a] }, tls: { key: hidden } }',
    ['"key" is not a private key; must be PEM text', '"key" needs cert, too'],
  ],
  ['{ cluster: { nodes: [a] }, tls: { servername: 10.0.0.1 } }', ['"servername" must be a host name']],
  ['{ cluster: { nodes: [a] }, tls: false }', ['"tls"']],
  ['{ cluster: { node: [a] } }', ['unknown key "node"']],
])('a contradiction, or half of something: %s', async (redis, expected) => {
  const found = await problemsOf(withRedis(redis))
  expect(found).toHaveLength(expected.length)
  for (const [i, text] of expected.entries()) expect(found[i]).toContain(text)
  expect(found.join()).not.toContain('hidden')
})

test.each(['redis://h:99999', 'rediss://kh:hidden@h:65536/1', 'redis://[::1]:0', 'redis://h:0'])(
  'a port out of range is named: %s',
  async (url) => {
    const found = await problemsOf(withRedis(`{ url: "${url}" }`))
    expect(found).toEqual([expect.stringContaining('has a port out of range: it must be 1 to 65535')])
    expect(found.join()).not.toContain('hidden')
  },
)

test.each([
  ['{ sentinel: { nodes: [a] } }', 'such as name: mymaster'],
  ['{ host: redis }', 'here it is part of the url'],
  ['{ url: "redis://redis", db: 3 }', 'here it is part of the url'],
])('what to write instead of %s is told', async (redis, hint) => {
  const [found = ''] = await problemsOf(withRedis(redis))
  expect(found).toContain(hint)
})

test('a certificate and a key that do not belong together are told', async () => {
  const authority = createAuthority('a')
  const [one, two] = [authority.issue('one'), authority.issue('two')]
  const block = (pem: string) => `|\n${pem.replace(/^/gm, '      ')}`
  const text = withRedis(
    `\n  cluster: { nodes: [a] }\n  tls:\n    cert: ${block(one.cert)}\n    key: ${block(two.key)}\n`,
  )
  expect(await problemsOf(text)).toEqual([expect.stringContaining('"key" is not the key of cert')])
  const half = withRedis(`\n  cluster: { nodes: [a] }\n  tls:\n    cert: ${block(one.cert)}\n`)
  expect(await problemsOf(half)).toEqual([expect.stringContaining('"cert" needs key, too')])
})

test('the same words say how TLS is spoken with Redis and with sinks', async () => {
  const { cert, key } = createAuthority('a').issue('kubeherald')
  const tls = JSON.stringify({ ca: cert, cert, key, servername: 'a.example' })
  expect(await problemsOf(withRedis(`{ cluster: { nodes: [a] }, tls: ${tls} }`))).toEqual([])
  const webhook = `{ type: webhook, url: "https://a.example/", tls: ${tls} }`
  expect(await problemsOf(withRedis('{}').replace('{ type: stdout }', webhook))).toEqual([])
  expect(await problemsOf(withRedis('{ cluster: { nodes: [a] }, tls: { serverName: a.example } }'))).toEqual([
    expect.stringMatching(/unknown key "serverName".*servername/s),
  ])
})
