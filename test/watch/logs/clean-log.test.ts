import { expect, test } from 'vitest'
import { cleanLog } from '../../../src/watch/logs/clean-log.ts'

const clean = (text: string | Buffer, bounds = {}) =>
  cleanLog(Buffer.from(text as string), { lines: 20, maxBytes: 4_096, ...bounds })

test('the last lines are kept, without empty ones at the end', () => {
  expect(clean('a\nb\r\nc\n\n\n', { lines: 2 })).toBe('b\nc')
  expect(clean('')).toBe('')
})

test('the last bytes are kept, in whole lines where one fits', () => {
  const text = Array.from({ length: 100 }, (_, i) => `line ${i} äöü`).join('\n')
  const short = clean(text, { lines: 200, maxBytes: 300 })
  expect(Buffer.byteLength(short)).toBeLessThanOrEqual(300)
  expect(short).toMatch(/^…\nline \d+ äöü\n[\s\S]*line 99 äöü$/)
  const one = clean('😀'.repeat(500), { maxBytes: 256 })
  expect(one).toMatch(/^…(😀)+/u)
  expect(Buffer.byteLength(one)).toBeLessThanOrEqual(256)
})

test('nothing in it moves a cursor, changes a direction or is no Unicode', () => {
  const hostile = '\u001b[31mred\u001b[0m \u001b]0;title\u0007 \u0000 \u202eevil \u0085 tab\there'
  expect(clean(hostile)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
  expect(clean(hostile)).toContain('red')
  expect(clean(Buffer.from([0x61, 0xff, 0xfe, 0xc3, 0x28, 0x62])).isWellFormed()).toBe(true)
})

test.each([
  ['colours', '\u001b[1;31mred\u001b[0m', 'red'],
  ['an 8-bit sequence', '\u009b31mred', 'red'],
  ['a title', '\u001b]0;a title\u0007red\u001b]2;x\u001b\\', 'red'],
  ['a link', '\u001b]8;;https://x/y\u001b\\red\u001b]8;;\u001b\\', 'red'],
  ['two characters', '\u001bcred\u001b(B', 'red'],
  ['a sequence without end', 'red \u001b]0;no end', 'red 0;no end'],
  ['a sequence that a line ends', '\u001b[31\nred', '31\nred'],
])('escape sequences are left out: %s', (_, text, expected) => {
  expect(clean(text)).toBe(expected)
})

test('a log of nothing but beginnings of escape sequences takes no time', () => {
  const startedMs = performance.now()
  for (const part of [
    '\u001b]',
    '\u001b]a;',
    '\u001b[',
    '\u001b[1;',
    '\u009b',
    '\u009d',
    '\u0090a',
    '\u001b ',
  ])
    clean(part.repeat(Math.ceil(262_144 / Buffer.byteLength(part))))
  expect(performance.now() - startedMs).toBeLessThan(5_000)
}, 200_000)

test.each([
  'password=hunter2',
  'DB_PASSWORD: "hunter2 and more"',
  '{"apiKey":"hunter2"}',
  '{\\"token\\":\\"hunter2\\"}',
  'Authorization: Bearer hunter2',
  'using bearer hunter2.hunter2',
  'https://user:hunter2@db/x',
  'GET https://db/x?sig=hunter2',
  'token eyJhbGciOiJIUzI1NiJ9.hunter2hunter2.hunter2',
  '-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----',
  'hunter2hunter2\n-----END PRIVATE KEY-----',
  "secret='hunter2",
  '{"password": ["hunter2", "hunter2]hunter2"]}',
  '{"X-Api-Key":["hunter2"],"Authorization":["Basic hunter2"]}',
  'map[Authorization:[Basic hunter2] Cookie:[a=b; c=hunter2]]',
  'Authorization: token hunter2',
  'Authorization: Digest username="hunter2", response="hunter2"',
  'authorization: AWS4-HMAC-SHA256 Credential=hunter2/x, SignedHeaders=host, Signature=hunter2',
  'Cookie: theme=a; sid=hunter2; b="hunter2"; c=hunter2',
  '{\\"headers\\":\\"Cookie: a=b; c=hunter2\\"}',
  '{"headers":"Cookie: a=\\"b\\"; c=hunter2"}',
  'password:\t\t\thunter2',
  `token${' '.repeat(20)}=${' '.repeat(20)}hunter2`,
  'password := "hunter2"',
  'AWS_SECRET_ACCESS_KEY=hunter2',
  'SECRET_KEY: hunter2',
  '"private_key": "hunter2"',
  'db_pwd=hunter2',
  'Server=db;Uid=sa;Pwd=hunter2;',
  'DB_PASS=hunter2',
  'passphrase=hunter2',
  'credentials=hunter2',
  '{"name":"DB_PASSWORD","value":"hunter2"}',
  '{"name": "DB_PASSWORD",\n "value": "hunter2"}',
  '- name: DB_PASSWORD\n  value: hunter2',
  '"password" => "hunter2"',
  '{\\\\\\"token\\\\\\":\\\\\\"hunter2\\\\\\"}',
  '{"password":"a\\"hunter2"}',
  '{\\"password\\":\\"a\\\\\\"hunter2\\"}',
  "password: 'it''s hunter2'",
  `password="it's hunter2"`,
  'password=[redacted]hunter2',
])('a secret is masked: %s', (text) => {
  expect(clean(`before\n${text}\nafter`)).not.toContain('hunter2')
  expect(clean(`before\n${text}\nafter`)).toMatch(/^before\n/)
})

test.each([
  ['{"password":["hunter2"],"user":"me"}', '{"password":[redacted],"user":"me"}'],
  ['map[Authorization:[Basic x] Accept:[*/*]]', 'map[Authorization:[redacted] Accept:[*/*]]'],
  [`curl -H 'Authorization: token x' --fail`, `curl -H 'Authorization: [redacted]' --fail`],
  ['{"headers":"Authorization: Basic YWI=","size":5}', '{"headers":"Authorization: [redacted]","size":5}'],
  ['{\\"token\\":\\"x\\",\\"size\\":5}', '{\\"token\\":[redacted],\\"size\\":5}'],
  [
    '{"name":"TOKEN","value":"x"},{"name":"size","value":"5"}',
    '{"name":"TOKEN","value":[redacted]},{"name":"size","value":"5"}',
  ],
  ['password=x user=me', 'password=[redacted] user=me'],
])('what is around a secret stays: %s', (text, expected) => {
  expect(clean(text)).toBe(expected)
  expect(clean(expected)).toBe(expected)
})

test.each([
  'token_count: 5',
  'max_tokens=100',
  'key: value',
  'PWD=/usr/src/app',
  'pass: 12, fail: 3',
  'no credentials: none of the providers has some',
  'the token was read',
  '{"name":"size","value":"5"}',
  '--authorization-mode=RBAC',
])('an ordinary text stays: %s', (text) => {
  expect(clean(text)).toBe(text)
})

test('megabytes of text that is nearly a secret take no time', () => {
  const startedMs = performance.now()
  for (const part of [
    'token',
    'token=',
    'https://a?',
    '-----BEGIN PRIVATE KEY-----',
    'eyJ',
    'AAAA\n',
    '"token":"',
    'token=[',
    'cookie: ',
    'cookie:a="',
    'token:\\\\\\"',
    "token:'\\",
    'token","value',
    'token                              ',
    'pass',
  ])
    clean(part.repeat(30_000), { lines: 200 })
  expect(performance.now() - startedMs).toBeLessThan(5_000)
})
