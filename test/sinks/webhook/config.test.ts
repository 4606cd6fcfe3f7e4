import { expect, test } from 'vitest'
import { WebhookConfig } from '../../../sinks/webhook/config.ts'
import webhook from '../../../sinks/webhook/index.ts'
import { createAuthority } from '../../servers/certificates.ts'

/** A key that is refused has its own issues inside, which the configuration shows. */
const problemsOf = (config: object) =>
  (WebhookConfig.safeParse(config).error?.issues ?? []).map((issue) => {
    const [inner] = issue.code === 'invalid_key' ? issue.issues : []
    return `${issue.path.join('.')} ${inner?.message ?? issue.message}`
  })

test.each([
  'http://169.254.169.254/latest/meta-data',
  'http://[fe80::1]/x',
  'http://[::ffff:169.254.169.254]/x',
  'http://metadata.google.internal/x',
])('%s is refused before anything starts, unless it is permitted', (url) => {
  expect(problemsOf({ url })).toEqual([
    'url is a link-local or cloud metadata address, which gets nothing unless allowLinkLocal is true',
  ])
  expect(problemsOf({ url, allowLinkLocal: true })).toEqual([])
})

test('usual addresses are permitted', () => {
  for (const url of ['http://10.0.0.1:8080/x', 'https://hooks.example.com/x', 'http://[::1]/x'])
    expect(problemsOf({ url })).toEqual([])
})

const URL_A = 'https://a.example.com/hook'
const certificates = createAuthority('company')
const own = certificates.issue('us')

test.each<[object, ...string[]]>([
  [{}, 'url is missing'],
  [{ url: URL_A, headers: { 'X-A': '1', 'x-a': '2' } }, 'headers.x-a is "X-A" again; keep one of the two'],
  [{ url: URL_A, headers: { 'x-a': 'a\r\nx-evil: 1' } }, 'headers.x-a must be one line of text'],
  [
    { url: URL_A, headers: { 'x-ns': '{{ namespace }}' } },
    'headers.x-ns is a fixed text: a template would be sent unchanged',
  ],
  [
    { url: URL_A, headers: { 'x-ns': '{% if name %}a{% endif %}' } },
    'headers.x-ns is a fixed text: a template would be sent unchanged',
  ],
  [{ url: URL_A, headers: { 'x-key': 'a{{b' } }],
  [{ url: URL_A, headers: { 'ce-id': '1' } }, 'headers.ce-id is set by kubeherald itself'],
  [
    { url: URL_A, headers: { 'Content-Type': 'a/b' } },
    'headers.Content-Type is set by the format; see contentType',
  ],
  [
    { url: URL_A, headers: { 'Transfer-Encoding': 'x' } },
    'headers.Transfer-Encoding is set by kubeherald itself',
  ],
  [{ url: URL_A, auth: {} }, 'auth must have one of basic, bearer and oauth2'],
  [{ url: URL_A, auth: { bearer: 'a\nb' } }, 'auth.bearer must be one line of text without spaces'],
  [
    { url: URL_A, auth: { bearer: 'x' }, headers: { Authorization: 'y' } },
    'headers.Authorization cannot be combined with auth; keep one of the two',
  ],
  [
    { url: 'https://u:p@a.example.com', auth: { bearer: 'x' } },
    'auth cannot be combined with a user and password in url; keep one of the two',
  ],
  [
    {
      url: URL_A,
      auth: { oauth2: { tokenUrl: 'http://169.254.169.254/', clientId: 'a', clientSecret: 'b' } },
    },
    'auth.oauth2.tokenUrl is a link-local or cloud metadata address, which gets nothing unless allowLinkLocal is true',
  ],
  [
    { url: URL_A, proxy: 'http://169.254.1.1:3128' },
    'proxy is a link-local or cloud metadata address, which gets nothing unless allowLinkLocal is true',
  ],
  [{ url: URL_A, proxy: 'socks5://p:1' }, 'proxy must be false or the http:// or https:// URL of a proxy'],
  [{ url: 'http://a.example.com', tls: { servername: 'x' } }, 'tls is for https only, and url is http'],
  [{ url: URL_A, tls: { cert: own.cert } }, 'tls.cert needs key, too'],
  [
    { url: URL_A, tls: { cert: own.cert, key: certificates.issue('other').key } },
    'tls.key is not the key of cert',
  ],
  [
    { url: URL_A, tls: { ca: '/etc/tls/ca.crt' } },
    'tls.ca has no certificate; must be PEM text, such as ${file:/etc/tls/ca.crt}',
  ],
  [
    { url: URL_A, tls: { cert: own.cert, key: 'x' } },
    'tls.key is not a private key; must be PEM text, such as ${file:/etc/tls/tls.key}',
  ],
  ...[
    'https://{{ name }}/x',
    'https://a{{ name }}/x',
    'https://a.example.com:{{ name }}/',
    '{{ name }}',
    'https://a.example.com{{ name }}',
  ].map((url): [object, string] => [
    { url },
    'url may have templates in its path and query only: scheme, host and port are fixed',
  ]),
  [
    { url: 'http://169.254.169.254/{{ name }}' },
    'url is a link-local or cloud metadata address, which gets nothing unless allowLinkLocal is true',
  ],
  [
    { url: URL_A, format: 'batch', repeatConflict: 'delivered' },
    'repeatConflict is about one event, but a batch that is sent again may hold others',
  ],
  [
    { url: URL_A, preset: 'teams', repeatConflict: 'delivered' },
    'repeatConflict cannot be combined with preset: teams; keep one of the two',
  ],
  [{ url: URL_A, format: 'template' }, 'format needs body: (a tree for JSON) or raw: (a text)'],
  [
    { url: URL_A, preset: 'loki', labels: { kind: '{{ about.kind }}' } },
    'labels.kind is a fixed text: a template would be sent unchanged',
  ],
  [
    { url: URL_A, format: 'binary', body: {} },
    'body is not sent with format: binary; leave one of the two out',
  ],
  [{ url: URL_A, body: {}, raw: 'x' }, 'raw cannot be combined with body; keep one of the two'],
  [{ url: URL_A, contentType: 'a/b' }, 'contentType is for body and raw; other formats have their own'],
  [{ url: URL_A, batch: {} }, 'batch needs each: (what one event becomes), or format: batch'],
  [
    { url: `${URL_A}/{{ name }}`, format: 'batch' },
    'url has templates, but a batch is about several objects',
  ],
  [
    { url: URL_A, preset: 'teams', body: {} },
    'body cannot be combined with preset: teams; keep one of the two',
  ],
  [{ preset: 'pagerduty' }, 'routingKey is missing'],
  [{ preset: 'teams' }, 'url is missing'],
  [{ url: URL_A, preset: 'teams', routingKey: 'x' }, 'routingKey is only for preset: pagerduty'],
  [
    { url: URL_A, username: 'x' },
    'username is only for preset: discord and preset: mattermost and preset: rocket-chat',
  ],
  [
    { preset: 'telegram', token: 't', chatId: 'ops' },
    'chatId must be the number of a chat, or the "@name" of a channel',
  ],
  [{ preset: 'telegram' }, 'token is missing', 'chatId is missing'],
  [{ preset: 'loki' }, 'url is missing'],
  [
    { preset: 'opsgenie', apiKey: 'k', action: 'trigger' },
    'action must be one of auto, open, note, acknowledge, close',
  ],
  [
    { preset: 'matrix', url: URL_A, token: 't', room: '#ops:x.org' },
    expect.stringMatching(/^room must be the id of a room/),
  ],
  [
    { preset: 'splunk', url: URL_A, token: 't', auth: { bearer: 'x' } },
    'auth cannot be combined with token; keep one of the two',
  ],
  [
    { preset: 'teams', url: URL_A, compression: 'gzip' },
    'compression cannot be combined with preset: teams; keep one of the two',
  ],
  [
    { preset: 'loki', url: URL_A, batch: { each: {} } },
    'batch.each is written by the preset; body: replaces what it writes',
  ],
  [{ preset: 'loki', url: `${URL_A}/{{ name }}` }, 'url has templates, but a batch is about several objects'],
  [{ url: URL_A, body: {}, batch: {} }, 'body is one event a request: with batch write it as batch.each'],
  [
    { url: URL_A, format: 'binary', batch: { each: {} } },
    'batch.each is not sent with format: binary; leave one of the two out',
  ],
  [
    { url: URL_A, format: 'batch', batch: { before: '[' } },
    'batch.before is for batch.each; other formats have their own',
  ],
  [{ url: URL_A, batch: { each: [{ a: '{{ nme }}' }] } }, 'batch.each.0.a there is no "nme"'],
  [{ url: URL_A, batch: { each: '{{ name | upp }}' } }, 'batch.each there is no filter "upp"'],
  [{ url: URL_A, batch: { each: {}, wait: '1s' } }, 'batch.wait must be at most 500ms'],
  [
    { url: URL_A, secret: `whsec_${'A'.repeat(32)}`, compression: 'gzip' },
    'compression cannot be combined with secret: receivers differ in whether they verify what was compressed',
  ],
  [
    { url: 'https://ntfy.example.com/ops/', preset: 'ntfy', topic: 'ops' },
    'url must be the server without the topic, such as https://ntfy.example.com: at the address of a topic, ntfy shows the JSON itself',
  ],
  [
    { url: 'http://am:9093', preset: 'alertmanager' },
    'url must end in /api/v2/alerts, such as http://alertmanager:9093/api/v2/alerts',
  ],
  [
    { url: 'http://am/api/v2/alerts', preset: 'alertmanager', resolveAfter: '10' },
    'resolveAfter needs a unit: 10m, 10h or 10d',
  ],
])('%j is refused, and told why', (config, ...problems) => {
  expect(problemsOf(config)).toEqual(problems)
})

test('what is missing and what does not go together is told beside what is wrong by itself', () => {
  expect(problemsOf({ timeout: '99s', batch: {} })).toEqual([
    expect.stringMatching(/^timeout must be at most 50s/),
    'url is missing',
    'batch needs each: (what one event becomes), or format: batch',
  ])
})

test('no secret of the configuration is repeated in what is told', () => {
  const secret = 's3cr3t-of-ours'
  const config = {
    url: `ftp://user:${secret}@a.example.com`,
    auth: { bearer: `${secret}\n` },
    proxy: `socks5://u:${secret}@p`,
    tls: { key: secret },
  }
  expect(JSON.stringify(problemsOf(config))).not.toContain(secret)
})

async function validate(options: object) {
  const checked = await webhook.config['~standard'].validate(options)
  return checked as { value: never; issues?: { message: string }[] }
}

test('user and password beside an authorization header are refused', async () => {
  const url = 'http://user:pw@localhost/'
  const { issues } = await validate({ url, headers: { Authorization: 'Bearer of-bad-news' } })
  expect(issues).toMatchObject([
    { path: ['headers', 'Authorization'], message: expect.stringContaining('keep one of the two') },
  ])
})

test.each<[timeout: string | number, message?: string]>([
  ['51s', 'must be at most 50s'],
  ['1m', 'must be at most 50s'],
  ['0s', 'must be at least 1ms'],
  ['50s'],
  [20, 'needs a unit: 20s or 20ms'],
  [300, 'needs a unit: 300ms'],
  ['soon', 'must be a duration from 1ms to 50s, such as 20s'],
])('timeout: %s', async (timeout, message) => {
  const { issues } = await validate({ url: 'http://localhost/', timeout })
  expect(issues?.[0]?.message).toEqual(message && expect.stringContaining(message))
})
