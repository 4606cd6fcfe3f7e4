import { Writable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { createLog, isLogLevel, LOG_LEVELS, type LogOptions } from '../../src/observe/log.ts'
import { redactMessage, redactSecrets, redactText } from '../../src/text/redact.ts'
import { leastCpuMs } from '../cpu-time.ts'

function capture(options: Partial<LogOptions> = {}) {
  let text = ''
  const output = new Writable({
    write(chunk, _encoding, done) {
      text += chunk
      done()
    },
  })
  const log = createLog({ level: 'info', format: 'json', colour: false, output, ...options })
  const lines = () => text.trim().split('\n').filter(Boolean)
  return { log, output, lines, json: () => lines().map((line) => JSON.parse(line)), text: () => text }
}

describe('JSON', () => {
  test('no text moves a cursor or turns the direction of text, and all of it is there', () => {
    const { log, json, text } = capture()
    const detail = 'a\u001b[31m\u009b31m\u202e\u2066\u2028b'
    log.warn({ detail }, detail)
    expect(text()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/)
    expect(json()[0]).toMatchObject({ detail, msg: detail })
  })

  test('is an object a line: time, level as a word, fields, message', () => {
    const { log, json } = capture()
    log.warn({ watch: 'pods', retryInMs: 800 }, 'the watch was interrupted')
    log.info({}, 'watching')
    const [first, second] = json()
    expect(first).toEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      watch: 'pods',
      retryInMs: 800,
      msg: 'the watch was interrupted',
    })
    expect(second.level).toBe('info')
  })

  test('says nothing below its level', () => {
    const { log, lines } = capture({ level: 'warn' })
    log.debug({}, 'a')
    log.info({}, 'b')
    log.error({}, 'c')
    expect(lines()).toHaveLength(1)
  })

  test.each(['error', 'fatal'] as const)('at level %s has the actions of users all the same', (level) => {
    const { log, json } = capture({ level })
    const actions = { audit: true, who: 'token:ci', password: 'hidden-value' }
    log.child({ sink: 'oncall' }).info(actions, 'an action')
    log.warn({ audit: true }, 'an action that was refused')
    log.info({ audit: 'true' }, 'no action')
    expect(json()).toMatchObject([
      { level: 'info', audit: true, sink: 'oncall', who: 'token:ci', password: '[redacted]' },
      { level: 'warn', audit: true },
    ])
  })

  test('carries the fields of a child in all its lines', () => {
    const { log, json } = capture()
    log.child({ sink: 'hook' }).child({ lane: '3' }).info({ count: 1 }, 'delivered')
    expect(json()[0]).toMatchObject({ sink: 'hook', lane: '3', count: 1 })
  })
})

describe('errors', () => {
  const error = new Error('cannot deliver', {
    cause: new Error('connect failed', { cause: new Error('ETIMEDOUT') }),
  })

  test('are told with their causes, without a stack', () => {
    const { log, json } = capture()
    log.error({ error }, 'failed')
    expect(json()[0].error).toBe('cannot deliver: connect failed: ETIMEDOUT')
  })

  test('come with their stack from debug on', () => {
    const { log, json } = capture({ level: 'debug' })
    log.error({ error }, 'failed')
    expect(json()[0].error.message).toBe('cannot deliver: connect failed: ETIMEDOUT')
    expect(json()[0].error.stack).toContain('log.test.ts')
  })

  test.each([
    ['whose causes go in circles', circular(), 'round: and round'],
    ['whose cause says the same', new Error('no: refused', { cause: new Error('refused') }), 'no: refused'],
    [
      'of several addresses',
      new AggregateError([new Error('::1 refused'), new Error('127.0.0.1 refused')]),
      '::1 refused; 127.0.0.1 refused',
    ],
    ['that have only a code', Object.assign(new Error(''), { code: 'ECONNRESET' }), 'ECONNRESET'],
    ['that say nothing', new TypeError(''), 'TypeError'],
  ])('%s are told, too', (_, it, expected) => {
    const { log, json } = capture()
    log.error({ error: it }, 'failed')
    expect(json()[0].error).toBe(expected)
  })
})

function circular(): Error {
  const outer = new Error('round')
  outer.cause = new Error('and round', { cause: outer })
  return outer
}

describe('secrets', () => {
  const FIELDS = [
    'authorization',
    'Authorization',
    'token',
    'bearerToken',
    'password',
    'secret',
    'clientSecret',
    'api-key',
    'apiKey',
    'set-cookie',
  ]

  test.each(FIELDS)('in a field %s are never shown, at any depth', (name) => {
    const { log, text } = capture()
    log.info({ [name]: 'hush' }, 'a')
    log.info({ sink: { headers: [{ [name]: 'hush' }] } }, 'b')
    log.child({ [name]: 'hush' }).info({}, 'c')
    expect(text()).not.toContain('hush')
    expect(text().match(/\[redacted\]/g)).toHaveLength(3)
  })

  test.each([
    ['redis://user:hush@redis:6379/0', 'redis://[redacted]@redis:6379/0'],
    ['https://hush@example.com/x', 'https://[redacted]@example.com/x'],
    ['https://example.com/hook?token=hush&x=hush', 'https://example.com/hook?[redacted]'],
    [
      'cannot post to (https://a:hush@b.example/c?d=hush) twice',
      'cannot post to (https://[redacted]@b.example/c?[redacted]) twice',
    ],
    ['really? mail someone@example.com', 'really? mail someone@example.com'],
    ['/api/v1/pods?watch=true', '/api/v1/pods?watch=true'],
  ])('in URLs are taken out: %s', (url, expected) => {
    const { log, json } = capture()
    log.info({ url, error: new Error(url), parsed: URL.canParse(url) ? new URL(url) : null }, url)
    expect(json()[0]).toMatchObject({ url: expected, error: expected, msg: expected })
    expect(JSON.stringify(json())).not.toContain('hush')
  })

  test('are taken out of stacks', () => {
    const { log, text } = capture({ level: 'debug' })
    log.error({ error: new Error('no answer from redis://user:hush@redis') }, 'failed')
    expect(text()).not.toContain('hush')
  })

  test('stay hidden when fields are hostile', () => {
    const { log, json } = capture()
    const hostile = JSON.parse('{"__proto__":{"token":"hush"},"constructor":"x"}')
    const loop: Record<string, unknown> = { hostile, big: 1n }
    loop['self'] = loop
    log.info(loop, 'odd')
    expect(JSON.stringify(json())).not.toContain('hush')
    expect(json()[0]).toMatchObject({ big: '1', msg: 'odd' })
  })
})

describe('text', () => {
  test('is a readable line: time, level, message, fields', () => {
    const { log, lines } = capture({ format: 'text' })
    log.warn({ watch: 'pods in shop', position: '17', counts: { a: 1 } }, 'interrupted')
    expect(lines()[0]).toMatch(
      /^\d\d:\d\d:\d\d {2}warn {3}interrupted {2}watch="pods in shop" {2}position=17 {2}counts=\{"a":1\}$/,
    )
  })

  test('paints the level only when asked', () => {
    const { log, text } = capture({ format: 'text', colour: true })
    log.error({}, 'x')
    expect(text()).toContain('\u001b[31merror\u001b[0m')
  })

  test('lets nothing from the cluster move the cursor', () => {
    const { log, text } = capture({ format: 'text' })
    log.info({ name: 'a\u001b[2Jb', other: '\u009b31m' }, 'msg\u001b[31m\r\n')
    expect(text()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
    expect(text().split('\n')).toHaveLength(2)
  })

  test('shows a stack below the line, a frame a line', () => {
    const { log, lines } = capture({ format: 'text', level: 'debug' })
    log.error({ error: new Error('broken') }, 'failed')
    expect(lines()[0]).toMatch(/failed {2}error="?broken"?$/)
    expect(lines()[1]).toMatch(/^ {4}at /)
  })
})

test('a reader of the log that has gone does not take the program with it', () => {
  const { log, output } = capture()
  expect(() => output.emit('error', new Error('EPIPE'))).not.toThrow()
  log.info({}, 'goes on')
})

test('knows its levels', () => {
  expect(LOG_LEVELS.every(isLogLevel)).toBe(true)
  expect(['INFO', 'verbose', '', 'constructor'].some(isLogLevel)).toBe(false)
})

describe('long messages', () => {
  test.each(['a.', 'a://', '//a', '//a@', 'a@', '://?', 'a-a.a+', ' '])(
    'of %j repeated are redacted in linear time',
    async (unit) => {
      const text = unit.repeat(1_000_000 / unit.length)
      expect(await leastCpuMs(1_000, () => redactText(text))).toBeLessThan(1_000)
    },
  )

  test.each([
    'eyJaaaaaaaa-',
    'eyJaaaaaaaa.',
    `${'A'.repeat(16)}\n`,
    'token=',
    'bearer ',
    'token=[',
    'token:\\\\"',
    'token="\\',
    'token","value',
    'cookie: a',
    'cookie:a="',
    'cookie=a="" ',
    'password                                                         ',
    '-----BEGIN PRIVATE KEY-----',
  ])('of %j repeated are searched for secrets in linear time', async (unit) => {
    const text = unit.repeat(200_000 / unit.length)
    expect(await leastCpuMs(2_000, () => redactSecrets(text))).toBeLessThan(2_000)
  })

  test('with the end of a private key are shown without it', () => {
    const key = `${'A'.repeat(64)}\n`.repeat(99)
    expect(redactSecrets(`ok: it began.\n${key}AAAA\n-----END PRIVATE KEY-----`)).toBe(
      'ok: it began.\n[redacted]',
    )
  })

  test.each([
    'https://user:hunter2@example.com/x?key=hunter2 ',
    'redis://:hunter@hunter2@example.com/0 ',
    'x.https://example.com/x?key=hunter2 ',
    '(https://example.com/x?key=hun)ter2&b=hunter2) ',
    'http://proxy/http://example.com/hook?key=hunter2&b=hunter2 ',
  ])('are cut without a part of a secret: %s', (unit) => {
    for (let offset = 0; offset < unit.length; offset++) {
      const kept = redactMessage('-'.repeat(offset) + unit.repeat(200))
      expect(kept.length).toBeLessThanOrEqual(2_048)
      expect(kept).not.toMatch(/hunt|key=/)
      expect(redactText(unit)).not.toMatch(/hunt|key=/)
    }
  })

  test('of errors and their causes are cut, and the line stays short', () => {
    const { log, text } = capture()
    const cause = new Error('a.'.repeat(5_000_000))
    log.warn({ error: new Error('b.'.repeat(5_000_000), { cause }) }, 'c.'.repeat(5_000_000))
    expect(text().length).toBeLessThan(10_000)
  })
})
