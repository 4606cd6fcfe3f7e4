import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readConfiguration } from '../../src/cli/load-config/configuration.ts'
import { configDetailOf } from '../../src/observe/server/health.ts'
import { builtInSinks } from '../../src/sink-types.ts'
import { type Desk, openDesk } from './cli.ts'
import { runHere } from './here.ts'

const POD = (namespace: string) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace, labels: { team: 'shop' } },
    status: { phase: 'Running' },
  })

const CONFIGURATION = `
cluster: \${env:CLUSTER}
watch: [Pod]
sinks:
  hook:
    type: webhook
    url: https://example.com/alerts/T0KEN-1234-abcd/{{ namespace }}/\${env:PATH_SECRET}?key=abcdef&ns={{ name }}
    tls: { ca: "\${file:ca.pem}", cert: "\${file:tls.crt}", key: "\${file:tls.key}" }
    format: template
    body: { token: "\${file:token}", text: "{{ name }}" }
rules:
  - name: a
    when: { namespace: "\${env:NAMESPACE}", labels: { team: "\${file:team}" } }
    if: object.status.phase == "\${env:PHASE}"
    to: [hook]
  - name: b
    when: { name: [other, "\${env:NAMESPACE}"] }
    to: [hook]
tests:
  - name: fails
    given: ${POD('payments')}
    expect: { rule: b, to: [hook] }
`
const SECRETS = {
  NAMESPACE: 'shop-east',
  PHASE: 'Pending',
  PATH_SECRET: 'hunter2',
  CLUSTER: 'prod',
}
const SECRET = /secret-team|secret-token|hunter2|T0KEN|abcdef/

/** A server that refuses every command with a message. */
async function startRefusingRedis(message: string) {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (commands) => {
      for (const _ of commands.toString().match(/^\*\d+/gm) ?? []) socket.write(`-ERR ${message}\r\n`)
    })
  })
  await once(server.listen(0, 'localhost'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      await once(server.close(), 'close')
    },
  }
}

function openSecretDesk(): Desk {
  const desk = openDesk(SECRETS)
  desk.write('kubeherald.yaml', CONFIGURATION)
  desk.write('team', 'secret-team\n')
  desk.write('token', 'secret-token\n')
  desk.write('pod.json', POD('payments'))
  desk.write('match.json', POD('shop-east').replace('"shop"', '"secret-team"').replace('Running', 'Pending'))
  return desk
}

describe('values of references are shown by nothing', () => {
  test.each([
    ['explain', 'pod.json'],
    ['explain', 'pod.json', '--json'],
    ['explain', 'match.json'],
    ['explain', 'match.json', '--json'],
    ['test'],
    ['test', '--json'],
    ['check', '--offline'],
  ])('%s %s %s', async (...args) => {
    using desk = openSecretDesk()
    const { stdout, stderr } = await runHere(desk, ...args.filter(Boolean))
    expect(stderr).not.toMatch(/has \d+ problem|cannot/)
    expect(stdout).not.toBe('')
    expect(stdout + stderr).not.toMatch(SECRET)
  })

  test.each([
    ['stdout, format: message', 'a*b_c[1](x)'],
    ['webhook, preset: discord, url: "https://discord.com/api/webhooks/1/a"', '@user*:a_b`~x'],
    ['webhook, preset: teams, url: "https://example.com/t"', '1. [a]*_x#b'],
    ['webhook, preset: mattermost, url: "https://example.com/t"', 'a:b_c*@d#e~"f'],
    ['webhook, preset: google-chat, url: "https://chat.googleapis.com/v1/spaces/x"', `a&b>"c"'d`],
    ['slack, token: xoxb-1-2-abcdefghij, channel: "#a"', 'a<b>&c_d*'],
  ])('explain hides a value that %s escapes: %s', async (sink, secret) => {
    using desk = openDesk({ SECRET: secret })
    desk.write('pod.json', POD('shop'))
    desk.write(
      'kubeherald.yaml',
      `watch: [Pod]\nsinks: { s: { type: ${sink} } }\nrules: [{ name: r, to: s, message: { title: "word \${env:SECRET} end" } }]`,
    )
    for (const options of [[], ['--json']]) {
      const { stdout, stderr } = await runHere(desk, 'explain', 'pod.json', ...options)
      expect(stderr).toBe('')
      expect(stdout).toContain('word *** end')
      expect(stdout.match(/.{9}word (?!\*\*\* end).*/g)).toBeNull()
      if (options.length > 0) expect(() => JSON.parse(stdout)).not.toThrow()
    }
  })

  test('explain shows the references, and the path that a template makes', async () => {
    using desk = openSecretDesk()
    expect((await runHere(desk, 'explain', 'pod.json')).stdout).toContain('${env:NAMESPACE}')
    const { stdout } = await runHere(desk, 'explain', 'match.json')
    expect(stdout).toMatch(/POST https:\/\/example\.com\/alerts\/\[redacted\]\/.+&ns=web/)
    expect(stdout).toContain('"text":"web"')
    // What the environment gives to conditions is no secret: hidden, it would make names wrong.
    expect(stdout).toMatch(/Pod shop-east\/web/)
  })

  test.each([['check', '--offline'], ['test'], ['explain', 'pod.json']])(
    '%s needs no PEM that only a pod has',
    async (...args) => {
      using desk = openSecretDesk()
      const { stderr } = await runHere(desk, ...args)
      expect(stderr).toBe('')
    },
  )

  test.each([
    ['that cannot be opened', "open() { throw new Error('token ' + secret + ' is refused') }"],
    [
      'whose check fails',
      "open: () => ({ ...sink, health: async () => ({ ok: false, reason: 'auth', detail: 'no access with ' + secret }) })",
    ],
    [
      'that warns',
      "open: () => ({ ...sink, health: async () => ({ ok: true, warnings: ['token ' + secret + ' expires soon'] }) })",
    ],
  ])('check hides what a sink %s shows', async (_, open) => {
    using desk = openDesk({ TOKEN: '' })
    desk.write(
      'plugin.mjs',
      `let secret
const sink = { deliver: async () => [], close: async () => {} }
const validate = (value) => {
  secret = value.token
  return { value }
}
export default { apiVersion: 1, type: 'pager', config: { '~standard': { version: 1, vendor: 'test', validate } }, ${open} }
`,
    )
    desk.write(
      'kubeherald.yaml',
      'plugins: [./plugin.mjs]\nwatch: [Pod]\nsinks: { s: { type: pager, token: "${env:TOKEN}" } }\nrules: [{ name: r, to: s }]\n',
    )
    for (const token of ['plain-s3cret', 'https://example.com/s3cret/hook?key=s3cret'])
      for (const options of [[], ['--json']]) {
        desk.env['TOKEN'] = token
        const { stdout, stderr } = await runHere(desk, 'check', ...options)
        expect(stdout).toContain('sink s (pager): ')
        expect(stdout + stderr).not.toContain('s3cret')
      }
  })

  test('check shows the host of Redis, also as the value of a reference, and no password', async () => {
    await using server = await startRefusingRedis('no access with s3cret')
    using desk = openDesk({ REDIS_HOST: 'localhost', REDIS_PASSWORD: 's3cret' })
    desk.write(
      'kubeherald.yaml',
      `redis: { url: "redis://:\${env:REDIS_PASSWORD}@\${env:REDIS_HOST}:${server.port}" }\nwatch: [Pod]\nsinks: { s: { type: stdout } }\nrules: [{ name: r, to: s }]\n`,
    )
    const { stdout, stderr } = await runHere(desk, 'check')
    expect(stdout).toContain(`redis (localhost:${server.port}): `)
    expect(stdout).toContain(`Redis at localhost:${server.port} `)
    expect(stdout + stderr).toContain('no access with ***')
  })
})

describe('a file outside of the folder of the configuration', () => {
  const SHADOW = 'root:$6$hunter2:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n'
  const KEYS =
    'hunter2: hunter2\nrules: [{ name: hunter2, when: { hunter: hunter2 }, to: hunter2 }]\ntests: [{ hunter2: a }]\n'

  function openFolder(include: string) {
    const dir = mkdtempSync(join(tmpdir(), 'kubeherald-'))
    const at = (name: string) => join(dir, name)
    mkdirSync(at('config'))
    writeFileSync(
      at('config/kubeherald.yaml'),
      `include: [${include}]\nwatch: [Pod]\nsinks: { a: { type: stdout } }\n`,
    )
    return {
      at,
      file: at('config/kubeherald.yaml'),
      [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }),
    }
  }

  test.each([SHADOW, KEYS, '"hunter2', 'hunter2: [', 'a: ${env:hunter2}'])(
    'shows nothing: %j',
    async (text) => {
      for (const include of [
        '../outside.yaml',
        'link.yaml',
        '"*.yaml"',
        'folder/outside.yaml',
        'inner.yaml',
      ]) {
        using folder = openFolder(include)
        writeFileSync(folder.at('outside.yaml'), text)
        if (include === 'inner.yaml')
          writeFileSync(folder.at('config/inner.yaml'), 'include: [../outside.yaml]\n')
        else if (include === 'folder/outside.yaml') symlinkSync('..', folder.at('config/folder'))
        else symlinkSync('../outside.yaml', folder.at('config/link.yaml'))
        const error = await readConfiguration(folder.file, builtInSinks).catch((it: Error) => it)
        expect(error, include).toBeInstanceOf(Error)
        expect((error as Error).message, include).not.toMatch(/hunter|root|daemon/)
        expect((error as Error).message, include).toMatch(/yaml:1:1: /)
      }
    },
  )

  test('a link within the folder is none', async () => {
    using folder = openFolder('rules.yaml')
    mkdirSync(folder.at('config/..data'))
    writeFileSync(folder.at('config/..data/rules.yaml'), 'rules: [{ name: shown-1, wen: {}, to: a }]\n')
    symlinkSync('..data/rules.yaml', folder.at('config/rules.yaml'))
    await expect(readConfiguration(folder.file, builtInSinks)).rejects.toThrow(/wen/)
  })
})

test('readiness names the line of a configuration that is not good, and nothing of it', () => {
  const rejected = { sinceMs: 0, problem: 'a.yaml:3:5: unknown key "hunter2"', place: 'a.yaml:3' }
  expect(configDetailOf({ appliedMs: 0, rejected })).toMatch(/a\.yaml:3;/)
  expect(configDetailOf({ appliedMs: 0, rejected })).not.toContain('hunter2')
})
