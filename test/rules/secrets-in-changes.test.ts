import { describe, expect, test } from 'vitest'
import { fieldChanges } from '../../src/rules/field-changes.ts'

const DEPLOYMENT = { group: 'apps', kind: 'Deployment' }
const SECRET = { group: '', kind: 'Secret' }

/** `path: old → new`, one line for each change. */
function shown(old: object, next: object, resource = DEPLOYMENT): string[] {
  return fieldChanges(old, next, resource).map(
    (it) => `${it.path}: ${JSON.stringify(it.old)} → ${JSON.stringify(it.new)}`,
  )
}

test('of a Secret neither values nor their hashes are shown, only which of them changed', () => {
  const old = { data: { password: 'sha256:1', gone: 'sha256:2', same: 'sha256:3' } }
  const next = { data: { password: 'sha256:4', 'tls.key': 'sha256:5', same: 'sha256:3' }, type: 'Opaque' }
  expect(shown(old, next, SECRET)).toEqual([
    'data.password: "***" → "***"',
    'data.gone: "***" → undefined',
    'data["tls.key"]: undefined → "***"',
    'type: undefined → "Opaque"',
  ])
  expect(shown({ data: { note: 'a' } }, { data: { note: 'b' } }, { group: '', kind: 'ConfigMap' })).toEqual([
    'data.note: "a" → "b"',
  ])
})

test('passwords in URLs are not shown', () => {
  const env = (url: string) => ({
    spec: { env: [{ name: 'DATABASE_URL', value: url }], args: [`--db=${url}`] },
  })
  expect(shown(env('postgres://app:hunter1@db-1/shop'), env('postgres://app:hunter2@db-2/shop'))).toEqual([
    'spec.env[name=DATABASE_URL].value: "postgres://***@db-1/shop" → "postgres://***@db-2/shop"',
    'spec.args: ["--db=postgres://***@db-1/shop"] → ["--db=postgres://***@db-2/shop"]',
  ])
})

test('values behind names of secrets in arguments and texts are masked, those in messages of a status are not', () => {
  const of = (word: string) => ({
    spec: { args: [`--db-password=${word}`, '--token', word, '--token-ttl', word] },
    data: {
      'app.properties': `user=app\ndb.password=${word}\nsize=${word}`,
      'app.json': `{"db_pwd":["${word}"],"env":[{"name":"SECRET_KEY","value":"${word}"}],"size":"${word}"}`,
    },
    status: { message: `cannot read secret: ${word}` },
  })
  expect(fieldChanges(of('one'), of('two'), DEPLOYMENT).map((it) => it.new)).toEqual([
    ['--db-password=***', '--token', '***', '--token-ttl', 'two'],
    'user=app\ndb.password=***\nsize=two',
    '{"db_pwd":***,"env":[{"name":"SECRET_KEY","value":***}],"size":"two"}',
    'cannot read secret: two',
  ])
})

describe('lists of secrets are masked', () => {
  test.each([
    ['tokens', (text: string) => [text], 'spec.tokens: "***" → "***"'],
    ['password', (text: string) => [text, 'x'], 'spec.password: "***" → "***"'],
    ['tokens', (text: string) => `${text},x`, 'spec.tokens: "***" → "***"'],
    ['db_pass', (text: string) => [text], 'spec.db_pass: "***" → "***"'],
    ['maxTokens', (text: string) => (text === 'one' ? '1' : '2k'), 'spec.maxTokens: "1" → "2k"'],
    ['a', (text: string) => ({ apiKeys: [text] }), 'spec.a.apiKeys: "***" → "***"'],
    ['a', (text: string) => [{ b: [{ passwords: [text] }] }], 'spec.a[0].b[0].passwords: "***" → "***"'],
  ])('%s', (name, fieldOf, expected) => {
    const of = (text: string) => ({ spec: { [name]: fieldOf(text) } })
    expect(shown(of('one'), of('two'))).toEqual([expected])
  })

  test('also in an object that is new', () => {
    expect(shown({}, { spec: { users: [{ tokens: ['one', 'two'] }] } })).toEqual([
      'spec.users: undefined → [{"tokens":"***"}]',
    ])
  })

  test('but not those of maps, or with another name', () => {
    const of = (text: string) => ({ spec: { tokenAudiences: [text], imagePullSecrets: [{ name: text }] } })
    expect(shown(of('one'), of('two'))).toEqual([
      'spec.tokenAudiences: ["one"] → ["two"]',
      'spec.imagePullSecrets[name=two]: undefined → {"name":"two"}',
      'spec.imagePullSecrets[name=one]: {"name":"one"} → undefined',
    ])
  })
})

test.each([
  ['a token of GitHub', (text: string) => `with ghp_${text.repeat(9)}`, 'with ***'],
  ['a bearer token', (text: string) => `Bearer ${text}12345678`, '***'],
  [
    'a private key',
    (text: string) => `-----BEGIN PRIVATE KEY-----\n${text}\n-----END PRIVATE KEY-----\nb`,
    '***\nb',
  ],
])('a secret that needs no name is masked: %s', (_, fieldOf, expected) => {
  const of = (text: string) => ({ data: { note: fieldOf(text) } })
  const [change] = fieldChanges(of('one'), of('two'), DEPLOYMENT)
  expect(change).toMatchObject({ old: expected, new: expected })
})
