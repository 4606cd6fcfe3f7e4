import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { hideSecrets } from '../../src/config/values/hide-secrets.ts'
import { builtInSinks } from '../../src/sink-types.ts'
import { openDesk } from './cli.ts'
import { runHere } from './here.ts'

const MAIN = `cluster: prod
include: [team.yaml]
vars: { ours: [shop, pay] }
x-anchors: { unused: true }
redis: { url: "redis://:l1teral-secret@redis:6379" }
watch: [Event]
sinks:
  hook: { type: webhook, url: "\${env:HOOK_URL}", secret: "\${env:NOT_HERE}" }
  chat: { type: slack, token: xoxb-1111111111-l1teral, channel: "#oncall" }
rules:
  - { name: own, when: { namespace: "\${var:ours}" }, message: "costs $\${amount} {{ name }}", to: [chat: { channel: "#x" }] }
`
const TEAM = `watch: [Pod]
defaults: { to: hook }
rules: [{ name: team, when: { kind: Pod } }]
`
function openConfigDesk() {
  const desk = openDesk({ HOOK_URL: 'https://example.com/s3cret-path' })
  desk.write('kubeherald.yaml', MAIN)
  desk.write('team.yaml', TEAM)
  return desk
}

describe('config show', () => {
  test('merges the files, and needs no secrets', async () => {
    using desk = openConfigDesk()
    const { code, stdout, stderr } = await runHere(desk, 'config', 'show')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const shown = parse(stdout)
    expect(Object.keys(shown)).toEqual(['cluster', 'redis', 'watch', 'sinks', 'rules'])
    expect(shown.watch).toEqual(['Event', 'Pod'])
    expect(shown.rules).toEqual([
      { name: 'team', to: 'hook', when: { kind: 'Pod' } },
      {
        name: 'own',
        when: { namespace: ['shop', 'pay'] },
        message: 'costs $${amount} {{ name }}',
        to: [{ chat: { channel: '#x' } }],
      },
    ])
    expect(shown.sinks.hook).toEqual({ type: 'webhook', url: '${env:HOOK_URL}', secret: '${env:NOT_HERE}' })
    expect(shown.sinks.chat.token).toBe('***')
  })

  test.each([['yaml'], ['json']])('as %s has no secret, referenced or written out', async (format) => {
    using desk = openConfigDesk()
    const { stdout } = await runHere(desk, 'config', 'show', '--defaults', '-o', format)
    expect(stdout).not.toMatch(/l1teral|s3cret/)
    expect(stdout).toContain('@redis:6379')
  })

  test.each([['show'], ['routes']])(
    '%s hides secrets in texts, and leaves keys, types and names',
    async (command) => {
      using desk = openDesk({ TEAM: 'out', TRUE: 'true' })
      desk.write(
        'kubeherald.yaml',
        `watch: [Pod]
vars: { a: "\${env:TEAM}", b: "\${env:TRUE}" }
sinks: { out: { type: stdout }, hook: { type: webhook, url: "https://h.example/\${var:a}\${var:b}", allowLinkLocal: true } }
rules: [{ name: out, to: [out], when: { name: "out-*" } }]
`,
      )
      const args = command === 'show' ? ['config', 'show'] : ['routes']
      const { stdout } = await runHere(desk, ...args, '-o', 'json')
      const { rules, sinks } = JSON.parse(stdout)
      if (command === 'show') {
        expect(rules).toEqual([{ name: 'out', to: ['out'], when: { name: '***-*' } }])
        expect(sinks).toMatchObject({ out: { type: 'stdout' }, hook: { allowLinkLocal: true } })
      } else
        expect(rules).toMatchObject([
          { rule: 'out', conditions: [{ value: '***-*' }], to: [{ sink: 'out', type: 'stdout' }] },
        ])
    },
  )

  test('is a configuration with the same routes', async () => {
    using desk = openConfigDesk()
    const routes = async (...args: string[]) =>
      JSON.parse((await runHere(desk, 'routes', '-o', 'json', ...args)).stdout).rules.map(
        ({ place: _, ...rule }: { place: string }) => rule,
      )
    const before = await routes()
    desk.env['NOT_HERE'] = `whsec_${Buffer.alloc(32).toString('base64')}`
    const { stdout } = await runHere(desk, 'config', 'show')
    desk.write('merged.yaml', stdout.replace('"***"', 'xoxb-1111111111-other'))
    expect(await routes('-c', 'merged.yaml')).toEqual(before)
  })

  test('--defaults adds what is not written', async () => {
    using desk = openConfigDesk()
    const { stdout } = await runHere(desk, 'config', 'show', '--defaults')
    const shown = parse(stdout)
    expect(shown).toMatchObject({ leases: false, server: { host: '127.0.0.1', port: 9464 } })
    expect(shown.sinks.hook).toMatchObject({ method: 'POST', allowLinkLocal: false })
    expect(shown).not.toHaveProperty('plugins')
  })

  test('reports a wrong configuration with its place', async () => {
    using desk = openConfigDesk()
    desk.write('team.yaml', TEAM.replace('to: hook', 'to: hok'))
    const { code, stdout, stderr } = await runHere(desk, 'config', 'show')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('team.yaml:2:')
  })
})

describe('secrets that are written out', () => {
  test.each(Object.entries(builtInSinks))(
    '%s: each option that its example takes from outside',
    async (_, load) => {
      const { example = '' } = await load()
      const section = parse(
        example.replace(/\$\{(?:env|file):[^}]*\}/g, 'https://l1teral:l1teral@h/l1teral-secret-0'),
      )
      expect(JSON.stringify(hideSecrets(section))).not.toContain('l1teral')
    },
  )

  test.each([
    [{ auth: { bearer: 'x' } }, { auth: { bearer: '***' } }],
    [
      { auth: { oauth2: { clientId: 'id', clientSecret: 'x' } } },
      { auth: { oauth2: { clientId: 'id', clientSecret: '***' } } },
    ],
    [{ secret: ['x', '${env:OLD}'] }, { secret: ['***', '${env:OLD}'] }],
    [
      { body: '{"routing_key":"hunter6","text":"{{ name }}"}' },
      { body: '{"routing_key":"***","text":"{{ name }}"}' },
    ],
    [
      { body: { text: 'token=hunter4', pagerKey: 'hunter5' } },
      { body: { text: 'token=***', pagerKey: '***' } },
    ],
    [{ body: { key: '${env:KEY}' } }, { body: { key: '${env:KEY}' } }],
    [
      { headers: { 'X-Key': 'x', accept: 'text/plain' } },
      { headers: { 'X-Key': '***', accept: 'text/plain' } },
    ],
    [{ headers: { Authorization: 'Bearer ${env:T}' } }, { headers: { Authorization: 'Bearer ${env:T}' } }],
    [{ headers: { Authorization: 'Bearer abc${env:T}' } }, { headers: { Authorization: '***${env:T}' } }],
    [{ tls: { key: '-----BEGIN PRIVATE KEY-----\nx' } }, { tls: { key: '***' } }],
    [
      { type: 'slack', url: 'https://h/services/a/b' },
      { type: 'slack', url: 'https://h/***' },
    ],
    [
      { type: 'webhook', preset: 'teams', url: 'https://h/a' },
      { type: 'webhook', preset: 'teams', url: 'https://h/***' },
    ],
    [{ url: 'https://u:p@h/hook?key=v' }, { url: 'https://***@h/hook?key=***' }],
    [{ url: 'https://h/0123456789abcdef/x' }, { url: 'https://h/***/x' }],
    [{ url: 'https://h/a/${env:P}' }, { url: 'https://h/***${env:P}' }],
    [{ proxy: 'http://u:p@proxy:3128' }, { proxy: 'http://***@proxy:3128' }],
    [
      { key: '{{ name }}', brokers: ['k:9092'] },
      { key: '{{ name }}', brokers: ['k:9092'] },
    ],
  ])('%j', (section, shown) => {
    expect(hideSecrets(section)).toEqual(shown)
  })
})
