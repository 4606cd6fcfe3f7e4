import { zstdDecompressSync } from 'node:zlib'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { OBJECT_DICTIONARY } from '../../src/store/commit/previous-objects.ts'
import { unpackHistory } from '../../src/store/history/history-format.ts'
import { DICTIONARY } from '../../src/store/packing.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { startReceiver } from '../servers/receiver.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { startKubeherald } from './kubeherald.ts'

const SECRETS = '/api/v1/namespaces/default/secrets'
const inBase64 = (text: string) => Buffer.from(text).toString('base64')

/** Values that must come out nowhere. */
const OF_THE_CLUSTER = ['value-of-the-secret-1', 'value-of-the-secret-2']
const OF_THE_CONFIGURATION = {
  REDIS: 'password-of-redis',
  HOOK: 'path-0123456789abcdef',
  QUERY: 'query-of-the-hook',
  HEADER: 'header-of-the-hook',
  VARIABLE: 'variable-of-a-secret',
}
const ALL = [
  ...OF_THE_CLUSTER.flatMap((it) => [it, inBase64(it)]),
  ...Object.values(OF_THE_CONFIGURATION).flatMap((it) => [it, inBase64(it)]),
]

function secret(value: string): object {
  const data = { key: inBase64(value) }
  const copy = JSON.stringify({ kind: 'Secret', data })
  const annotations = {
    'kubectl.kubernetes.io/last-applied-configuration': copy,
    'kapp.k14s.io/original': copy,
    'objectset.rio.cattle.io/applied': inBase64(value),
  }
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'one', annotations }, data }
}

const config = (hook: string) => `
cluster: test
redis: { url: "\${env:REDIS_URL}" }
journal: { keep: 1h }
vars: { token: "\${env:VARIABLE}" }
watch: [{ kind: Secret, namespaces: default }]
sinks:
${['all', 'held', 'grouped', 'throttled', 'failing', 'text', 'refused']
  .map(
    (name) =>
      `  ${name}: { type: webhook, url: "${hook}/${name}/\${env:HOOK}?token=\${env:QUERY}", headers: { authorization: "Bearer \${env:HEADER}", x-v: "\${var:token}" }${name === 'text' ? ', preset: discord' : ''} }`,
  )
  .join('\n')}
rules:
  - { name: all, changed: [data.key], to: all }
  - { name: held, for: 1h, to: held }
  - { name: grouped, group: { by: [annotations.kubectl.kubernetes.io/last-applied-configuration, annotations.kapp.k14s.io/original], wait: 1s, interval: 1s }, to: grouped }
  - { name: throttled, throttle: { per: annotations.kubectl.kubernetes.io/last-applied-configuration, every: 1h }, to: throttled }
  - { name: failing, if: "int(object.data.key) > 3 || timestamp(object.metadata.annotations['kapp.k14s.io/original']) > now", to: failing }
  - { name: text, to: text, message: "{{ object | json }} {{ object | yaml }} {{ annotations | json }} {% for it in changes %}{{ it.old }} {{ it.new }}{% endfor %}" }
  - { name: refused, to: refused }
`

/** Of the first byte of a zstd frame's header. */
const RESERVED_BIT = 0x08

/** A value as it lies there, and unpacked. */
function readings(value: Buffer): string[] {
  const found = [value.toString('latin1')]
  const records = unpackHistory(value)
  if (records) found.push(JSON.stringify(records))
  const magic = Buffer.of(0x28, 0xb5, 0x2f, 0xfd)
  for (let start = 0; start < Math.min(value.length, 40); start++) {
    const rest = value.subarray(start)
    const isWhole = rest.subarray(0, magic.length).equals(magic)
    // No frame without its magic number begins with this bit set.
    if (!isWhole && ((rest[0] as number) & RESERVED_BIT) !== 0) continue
    const packed = isWhole ? rest : Buffer.concat([magic, rest])
    for (const dictionary of [DICTIONARY, OBJECT_DICTIONARY])
      try {
        found.push(zstdDecompressSync(packed, { dictionary }).toString('latin1'))
      } catch {}
  }
  return found
}

async function allOf(url: string): Promise<string> {
  const redis = new Redis(url)
  const found: Buffer[] = []
  for (const key of await redis.keysBuffer('*')) {
    const type = await redis.type(key)
    found.push(key)
    if (type === 'string') found.push((await redis.getBuffer(key)) ?? Buffer.alloc(0))
    if (type === 'hash') for (const it of await redis.hvalsBuffer(key)) found.push(it)
    if (type === 'hash') for (const it of await redis.hkeys(key)) found.push(Buffer.from(it))
    if (type === 'set') found.push(...(await redis.smembersBuffer(key)))
    if (type === 'zset') found.push(...(await redis.zrangeBuffer(key, '0', '-1')))
    if (type === 'stream')
      for (const [, fields] of await redis.xrangeBuffer(key, '-', '+')) found.push(...fields)
  }
  redis.disconnect()
  return found.flatMap(readings).join('\n')
}

test('values of Secrets, and those of the configuration, come out nowhere', async () => {
  await using kubernetes = await borrowKubernetes({})
  await using redis = await startRedis()
  await using hook = await startReceiver()
  const administrator = new Redis(redis.url)
  await administrator.config('SET', 'requirepass', OF_THE_CONFIGURATION.REDIS)
  administrator.disconnect()
  const redisUrl = redis.url.replace('redis://', `redis://:${OF_THE_CONFIGURATION.REDIS}@`)
  hook.answer(({ path, headers, body }) =>
    path.startsWith('/hook/refused')
      ? { status: 400, body: `${path} ${JSON.stringify(headers)} ${body}` }
      : { status: 200 },
  )
  await using kubeherald = await startKubeherald({
    kubeconfig: kubernetes.kubeconfig,
    config: config(hook.url),
    env: { ...OF_THE_CONFIGURATION, REDIS_URL: redisUrl },
    args: ['--log-level', 'debug'],
  })
  await kubernetes.request('POST', SECRETS, secret(OF_THE_CLUSTER[0] as string))
  await kubernetes.request('PUT', `${SECRETS}/one`, secret(OF_THE_CLUSTER[1] as string))
  const reached = (sink: string) => hook.requests.filter(({ path }) => path.startsWith(`/hook/${sink}/`))
  await waitFor(
    () => ['all', 'grouped', 'throttled', 'text', 'refused'].every((sink) => reached(sink).length > 0),
    { timeoutMs: 60_000, what: () => `all sinks; reached: ${hook.requests.map(({ path }) => path).join()}` },
  )
  const came: Record<string, string> = {
    'bodies of requests': hook.requests.map(({ body }) => body).join('\n'),
    metrics: await kubeherald.metrics(),
    'the log': kubeherald.log(),
    Redis: await allOf(redisUrl),
  }
  const letters = await kubeherald.command('dead-letters', 'list', '--json')
  const { id } = JSON.parse(letters.stdout.split('\n')[0] as string) as { id: string }
  const commands = [
    ['status', '--json'],
    ['dead-letters', 'show', id],
    ['tail', '--since', '1h', '--for', '1s', '--all', '--json'],
    ['backtest', '--rules', kubeherald.configFile],
    ['explain', 'secret/default/one', '--all', '--json'],
    ['history', 'secret/default/one', '--json'],
    ['why', 'secret/default/one', '--json'],
    ['check', '--json'],
  ]
  came['dead-letters list'] = letters.stdout + letters.stderr
  for (const args of commands) {
    const { code, stdout, stderr } = await kubeherald.command(...args)
    expect({ args, code, stderr: code === 0 ? '' : stderr }).toEqual({ args, code: 0, stderr: '' })
    came[args.join(' ')] = stdout + stderr
  }
  const leaks = Object.entries(came).flatMap(([where, text]) =>
    ALL.filter((it) => text.includes(it)).map((it) => `${it} in ${where}`),
  )
  expect(leaks).toEqual([])
  // What was looked through is what there is.
  expect(came['Redis']).toContain('"name":"one"')
  expect(came['Redis']).toContain('sha256:')
  expect(came['the log']).toContain('"rule":"failing"')
  expect(came['dead-letters list']).toContain('[redacted]')
  const dead = /"outcome":"dead".*\[redacted\]/
  expect(came['Redis']).toMatch(dead)
  expect(came['history secret/default/one --json']).toMatch(dead)
})
