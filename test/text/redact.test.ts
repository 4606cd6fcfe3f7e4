import { describe, expect, test } from 'vitest'
import { redactForms, redactSecrets } from '../../src/text/redact.ts'
import { leastCpuMs } from '../cpu-time.ts'

const LOGIN = Buffer.from('me:hunter2').toString('base64')
const AWS_SECRET = `hunter2${'AbCd/Ef+1'.repeat(4)}`.slice(0, 40)

const SECRETS: Readonly<Record<string, readonly string[]>> = {
  'YAML below a name': [
    'password: |\n  hunter2\n\n  hunter2\nuser: me',
    'password: >-\n  hunter2\nuser: me',
    '- token: |2- # of the API\n    hunter2\n  user: me',
    'loaded password: |\n  hunter2',
    'password: !!binary |\n  hunter2',
    'password:\n  hunter2\nuser: me',
    'password:\n  # of the database\n  hunter2\nuser: me',
    'auth:\n  token:\n\n    hunter2\nuser: me',
    'tokens:\n# of two users\n- hunter2\n# of one\n- hunter2\nuser: me',
    'tokens:\n- hunter2\n- "hunter2"\nuser: me',
    'db:\n  api_keys: # of two users\n    - hunter2\n    - hunter2\n  user: me',
  ],
  'lists on several lines': [
    '"password": [\n  "hunter2",\n  "hunter2"\n],\n"user": "me"',
    '{"tokens": ["hunter2",\n    "a\\"]hunter2"]}',
    "secrets = [\n    'hunter2',\n    'hunter2',\n]",
    'tokens: [\n  hunter2,\n  hunter2\n]',
    '{Tokens:[hunter2 hunter2] User:me}',
  ],
  'records of name and value': [
    '{"value":"hunter2","name":"DB_PASSWORD"}',
    '- value: hunter2, hunter2\n  name: DB_PASSWORD',
    '{\n  "value": "hunter2",\n  "name": "DB_PASSWORD"\n}',
    '{\\"value\\":\\"hunter2\\",\\"name\\":\\"DB_PASSWORD\\"}',
    '{"name":"DB_PASSWORD","x":{"y":1},"z":"{","value":"hunter2"}',
    '{"key":"password","type":"string","value":"hunter2"}',
    '- name: DB_PASSWORD\n  optional: false\n  value: hunter2 hunter2',
    '- name: DB_PASSWORD\n  value: |\n    hunter2\n- name: size',
    'EnvVar{Name:DB_PASSWORD,Value:hunter2,ValueFrom:nil,}',
    '{Name:DB_PASSWORD Value:hunter2 ValueFrom:nil}',
    'env: {"name": "DB_PASSWORD",\n  "value": "hunter2"}',
    '"name": "DB_PASSWORD",\n\n  "value": "hunter2"',
    '[{"op":"replace","path":"/spec/password","value":"hunter2"}]',
    '{"op":"add","path":"/data/token","value":["hunter2"]}',
    '{"id":"password","value":"hunter2"}',
    '{\\"path\\":\\"/data/token\\",\\"value\\":\\"hunter2\\"}',
    '- property: db.password\n  value: hunter2',
    'set DB_PASSWORD, value=hunter2',
  ],
  headers: [
    'Authorization: token hunter2hunter',
    'Authorization: secret hunter2 two',
    'authorization: for hunter2 foo',
    'cookie: a; session=hunter2',
  ],
  'values as languages print them': [
    'spring.datasource.password = hunter2',
    '&{User:me Password:hunter2}',
    'main.Config{User:"me", Password:"hunter2"}',
    'map[password:hunter2 user:me]',
    'Config { password: Some(Secret("hunter2")) }',
    "{'password': b'hunter2'}",
    "Config(user='me', password='hunter2')",
    'password = """hunter2"""',
    '{:password=>"hunter2"}',
    '[password] => hunter2',
    'user[password]=hunter2',
    'User[name=me, password=hunter2]',
    'Map(user -> me, password -> hunter2)',
    'level=info password="hunter2 hunter2"',
    "declare -x DB_PASSWORD='hunter2'",
    'password=a;hunter2',
    'token=a,hunter2',
    "password=it'hunter2",
  ],
  XML: [
    '<password>hunter2</password>',
    '<add key="Password" value="hunter2"/>',
    '<property name="password">hunter2</property>',
    '<name>db.password</name>\n<value>hunter2</value>',
  ],
  'arguments of programs': [
    '--password hunter2 --user me',
    '--db-password "hunter2 hunter2"',
    '["--token","hunter2"]',
    '["--token", "hunter2"]',
    'docker run -e DB_PASSWORD=hunter2 web',
    'curl -u me:hunter2 https://db.example',
    "curl -s --user 'me:hunter2' https://db.example",
    'machine db.example login me password hunter2',
    'machine db.example\n  login me\n  password hunter2',
  ],
  'SQL and connection strings': [
    "CREATE USER me IDENTIFIED BY 'hunter2'",
    'alter user me identified with caching_sha2_password by "hunter2"',
    "CREATE ROLE me WITH LOGIN PASSWORD 'hunter2'",
    "CREATE LOGIN me WITH PASSWORD = N'hunter2'",
    "SET PASSWORD FOR me = 'hunter2'",
    "SET PASSWORD = PASSWORD('hunter2')",
    'Server=db;Uid=sa;Pwd=hunter2;',
    'AccountName=x;AccountKey=hunter2;EndpointSuffix=y',
    'jdbc:mysql://db/x?user=me&password=hunter2',
  ],
  'more names': [
    'SECRET_KEY_BASE=hunter2',
    'signing-key: hunter2',
    'Invalid API key: hunter2',
    'passcode: hunter2',
    '".dockerconfigjson": "hunter2"',
    '//registry.npmjs.org/:_authToken=hunter2',
  ],
  'forms without a name': [
    'ghp_hunter2AAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    'github_pat_11AAAAAAA0_hunter2AAAAAAAAAAAAAAAA',
    'glpat-hunter2-AAAAAAAAAAAA',
    'xoxb-123456789012-hunter2',
    'xapp-1-A0000-123-hunter2',
    'npm_hunter2AAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    'sk_live_hunter2AAAAAAAAA',
    'sk-proj-hunter2AAAAAAAAAAAAA',
    'hvs.hunter2AAAAAAAAAAAAA',
    `AKIAIOSFODNN7EXAMPLE ${AWS_SECRET}`,
    'https://hooks.slack.com/services/T0/B0/hunter2',
  ],
  'private keys': [
    '-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nhunter2\n-----END PGP PRIVATE KEY BLOCK-----',
    '-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,AB\n\nhunter2 - cut off here',
    '  -----BEGIN PRIVATE KEY-----\n  hunter2\n  -----END PRIVATE KEY-----',
    '  hunter2hunter2hunter2\n  hunter2\n  -----END PRIVATE KEY-----',
  ],
}

const HARMLESS: Readonly<Record<string, readonly string[]>> = {
  'failures that are about a secret': [
    'token: expired',
    'level=error authorization=none status=500 err=timeout',
    '{ secure_cookie: true, level: info }',
    'password: incorrect',
    'error reading secret: not found',
    'Error: password: must not be empty',
    'invalid token: signature mismatch',
    'failed to fetch token: Get "https://auth.example/token": dial tcp: no such host',
    'level=error msg="cannot refresh token" err="token: EOF"',
    'error getting token: context deadline exceeded',
    'MountVolume.SetUp failed for volume "token" : secret "db" not found',
    'failed to list *v1.Secret: secrets is forbidden: User "x" cannot list resource "secrets"',
    'FATAL:  password authentication failed for user "app"',
    "Access denied for user 'root'@'10.0.0.1' (using password: NO)",
    'SyntaxError: Unexpected token } in JSON at position 12',
    'unexpected token: }',
    'Bearer authentication required',
    'Basic authentication failed',
    'flag --password is required',
    '  --token string   token of the API',
    'user root identified by uid 0',
    'token:\n    at Lexer.next (lexer.js:5)',
    'Invalid password:\n  it has no digit',
  ],
  'values that are no secret': [
    '{"token":null,"user":"me"}',
    'password: ""',
    'password=\nuser=me',
    'token: nil, size: 5',
    'password: ********',
    'password: <redacted>',
    '--password=$(DB_PASSWORD)',
    'pwd: /app',
    'secrets: []',
    'password: [redacted]',
  ],
  'names with another meaning': [
    'prompt_tokens=5 completion_tokens=7 total_tokens: 12',
    'tokens:\n  used: 5\n  left: 7',
    'pass: 12, fail: 3',
    'imagePullSecrets:\n- name: regcred',
    '"secrets": [\n  {"name": "db"}\n]',
    'volumes:\n- secret:\n    secretName: db',
    'secret:\n  # of the database\n  name: db\n  size: 4',
    'token:\n  <<: *default\n  size: 4',
    'password:\n  "of the database": a\n  size: 4',
    'DB_PASSWORD_FILE=/run/secrets/db',
    'token_type=Bearer',
    'cache_key=user:5',
    'docker run -u 1000:1000 web',
    'curl: (7) Failed to connect to db port 5432',
    'default login page',
    'sk-learn-deployment-7d9f8c6b5-abcde',
    'npm_lifecycle_script=build',
    'auth: disabled',
    '<token></token>',
    'at io.x.TokenService.token(TokenService.java:10)',
  ],
  'records without a secret': [
    '{"value":"5","name":"size"}',
    '- name: size\n  value: |\n    a\n    b',
    '{"name":"token"},{"value":5}',
    '{"name":"DB_PASSWORD","valueFrom":{"secretKeyRef":{"name":"db","key":"password"}}},{"name":"size","value":"5"}',
    '- key: password\n  path: password.txt\n- name: size\n  value: 5',
    'level=info name=token\nlevel=info value=5',
    'name: token\n\nvalue: 5',
  ],
}

describe.each(Object.entries(SECRETS))('secrets are masked: %s', (_, texts) => {
  test.each(texts)('%s', (text) => {
    const masked = redactSecrets(`before\n${text}\nafter`)
    expect(masked).not.toContain('hunter2')
    expect(masked).toMatch(/^before\n/)
    expect(redactSecrets(masked)).toBe(masked)
  })
})

test.each([
  ['password: |\n  x\nuser: me', 'password: ***\nuser: me'],
  ['{"value":"x","name":"DB_PASSWORD"}', '{"value":***,"name":"DB_PASSWORD"}'],
  ['--db-password x --user me', '--db-password *** --user me'],
])('in changes, too: %j', (text, expected) => {
  expect(redactForms(text, '***')).toBe(expected)
})

describe.each(Object.entries(HARMLESS))('an ordinary text stays: %s', (_, texts) => {
  test.each(texts)('%s', (text) => {
    expect(redactSecrets(text)).toBe(text)
  })
})

test.each([
  ['password: |\n  x\n\n  y\n\nuser: me', 'password: [redacted]\n\nuser: me'],
  ['db:\n  tokens:\n  - x\n  - y\n  user: me', 'db:\n  tokens: [redacted]\n  user: me'],
  ['"tokens": [\n  "x"\n],\n"size": 5', '"tokens": [redacted],\n"size": 5'],
  ['token: [\n{"level":"info"}', 'token: [redacted]\n{"level":"info"}'],
  ['{"value":"x","name":"TOKEN"},{"value":"5"}', '{"value":[redacted],"name":"TOKEN"},{"value":"5"}'],
  [
    '- value: x y\n  name: TOKEN\n- value: a b\n  name: size',
    '- value: [redacted]\n  name: TOKEN\n- value: a b\n  name: size',
  ],
  ['- name: TOKEN\n  value: |\n    x\n  size: 5', '- name: TOKEN\n  value: [redacted]\n  size: 5'],
  ['Some(Token { token: Some("x"), size: 5 })', 'Some(Token { token: [redacted]), size: 5 })'],
  ['<token>x</token><size>5</size>', '<token>[redacted]</token><size>5</size>'],
  ['--token x --size 5', '--token [redacted] --size 5'],
  ['--session-cookie=x; y --size=5', '--session-cookie=[redacted] --size=5'],
  ['curl -u me:x https://db.example', 'curl -u me:[redacted] https://db.example'],
  ["ALTER USER me IDENTIFIED BY 'x' ACCOUNT LOCK", 'ALTER USER me IDENTIFIED BY [redacted] ACCOUNT LOCK'],
  [`AKIAIOSFODNN7EXAMPLE,${AWS_SECRET}`, 'AKIAIOSFODNN7EXAMPLE,[redacted]'],
  [`sent Basic ${LOGIN} to it`, 'sent Basic [redacted] to it'],
  [`{"auths":{"r":{"auth":"${LOGIN}"}}}`, '{"auths":{"r":{"auth":"[redacted]"}}}'],
  ['https://hooks.slack.com/services/T0/B0/x: 404', 'https://hooks.slack.com/services/[redacted] 404'],
])('what is around a secret stays: %j', (text, expected) => {
  expect(redactSecrets(text)).toBe(expected)
})

/** Beginnings of each form, which its rest never follows. */
const BEGINNINGS = [
  ...['password: |\n', 'password: |\n\n\n', 'tokens:\n- a\n', 'tokens:\n-', '- token:\n  - ', 'token: #'],
  ...['token=[\n', 'token=[\n"a"', 'token=["a",\n', 'tokens:[', '"a",\n', 'token:"""'],
  ...['"name":"', '"value":"x","name":"token",', 'value: |\n', '- name: token\n  value: |\n', 'name=token {'],
  ...['name=token "', "name=token '", 'name:{', 'name: x\n', 'value:\\"', 'value:[\n"a",\n'],
  ...['password","value":', 'token,\n', 'token\nvalue', 'token:\n#', '# token:\n', 'token:\n\n'],
  ...['--token ', '--token "', '-token-', '--a', 'curl ', 'curl -u a', 'machine a login b password '],
  ...[
    'user a identified by ',
    'user ',
    'password for a ',
    "password '",
    '<password>',
    'token</name> <value>',
  ],
  ...['token: a,', 'token: Some(Some(', 'token: $(a', 'token ->', 'token:""', 'token: nil,', 'a(', 'token"]'],
  ...['ghp_', 'xoxb-', 'SG.aaaaaaaaaaaaaaaaa.', 'AKIAAAAAAAAAAAAAAAAA ', 'basic ', 'auth="aaaaaaaa'],
  ...[
    '-----BEGIN PRIVATE KEY-----\nA: b',
    '-----BEGIN ',
    '  AAAA\n',
    '"',
    "'",
    '\\',
    '{',
    ' ',
    '\n',
    ' \n',
    '-',
  ],
]

test.each(BEGINNINGS)('%j repeated is searched in linear time', async (unit) => {
  const text = unit.repeat(200_000 / unit.length)
  expect(await leastCpuMs(1_000, () => redactSecrets(text))).toBeLessThan(1_000)
})
