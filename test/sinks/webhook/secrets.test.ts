import { expect, test } from 'vitest'
import webhook, { presetType } from '../../../sinks/webhook/index.ts'
import type { PresetName } from '../../../sinks/webhook/presets/names.ts'
import type { Outcome } from '../../../src/sink/index.ts'
import { type Answer, startReceiver } from '../../servers/receiver.ts'
import { messageOf, openSink } from '../bed.ts'

const SECRET = `whsec_${Buffer.from('a-secret-of-thirty-two-bytes-or-so').toString('base64')}`
const never = new AbortController().signal

async function deliverTo(answer: Answer, options: object = {}): Promise<Outcome | undefined> {
  await using hook = await startReceiver()
  hook.answer(() => answer)
  await using sink = await openSink(webhook, { url: hook.url, ...options })
  const [outcome] = await sink.deliver([messageOf()], never)
  return outcome
}

const SECRETS = {
  path: '/hook/T0KEN-IN-PATH?key=T0KEN%2BIN%2FQUERY&T0KEN-BARE',
  headers: { 'x-auth': 'Bearer T0KEN-IN-HEADER', 'x-key': 'T0KEN-&-KEY', cookie: 'sid=T0KEN-COOKIE' },
  secret: SECRET,
}
const TELLTALE = new RegExp(`T0KEN|hunter2|${SECRET.slice(6)}`, 'i')

test.each<[string, (url: URL) => string]>([
  ['the whole URL', (url) => `no ${url.href}`],
  ['the path, as Express does', (url) => `<pre>Cannot POST ${url.pathname}${url.search}</pre>`],
  ['the path in HTML', (url) => `${url.pathname}${url.search}`.replaceAll('&', '&amp;')],
  ['the path in JSON, with escaped slashes', (url) => url.pathname.replaceAll('/', '\\/')],
  ['a token of the path', () => 'no team T0KEN-IN-PATH'],
  ['a value of the query', () => 'T0KEN+IN/QUERY or T0KEN%2BIN%2FQUERY or T0KEN-BARE'],
  ['a header', () => JSON.stringify(SECRETS.headers)],
  ['a token of a header in lower case', () => 'unknown token t0ken-in-header'],
  ['a header in HTML', () => 'T0KEN-&amp;-KEY'],
  ['Basic authorization', () => `Basic ${btoa('someone:hunter2')} is someone:hunter2`],
  ['a password', () => 'wrong password hunter2'],
  ['the signing secret', () => `${SECRET} ${SECRET.slice(6)}`],
  ['a secret that the limit cuts', () => `${' '.repeat(1_990)}T0KEN-IN-HEADER`],
])('an answer that repeats %s does not carry it into the outcome', async (_name, body) => {
  await using hook = await startReceiver()
  const url = new URL(SECRETS.path, hook.url)
  url.username = 'someone'
  url.password = 'hunter2'
  await using sink = await openSink(webhook, {
    url: url.href,
    headers: SECRETS.headers,
    secret: SECRETS.secret,
  })
  hook.answer(() => ({ status: 404, body: body(url) }))
  const [outcome] = await sink.deliver([messageOf()], never)
  expect(outcome).toMatchObject({ kind: 'retry', detail: expect.stringMatching(/^HTTP 404: .*\[redacted\]/) })
  expect(JSON.stringify(outcome)).not.toMatch(TELLTALE)
})

test.each<[PresetName, object, number, string, number]>([
  ['telegram', { chatId: '-1001' }, 200, '', 200],
  ['telegram', { chatId: '-1001' }, 400, 'chat not found', 500],
  ['splunk', {}, 400, '"code":7', 500],
  ['elasticsearch', { headers: { authorization: 'T0KEN-OF-THE-SERVICE' } }, 200, '', 200],
])(
  '%s: an answer that is cut in the middle of a secret does not show its beginning',
  async (name, options, status, begin, length) => {
    await using hook = await startReceiver()
    const token = name === 'elasticsearch' ? {} : { token: 'T0KEN-OF-THE-SERVICE' }
    await using sink = await openSink(await presetType(name), { url: hook.url, ...token, ...options })
    for (const shown of [5, 8, 12]) {
      const body = `${begin.padEnd(length - shown)}T0KEN-OF-THE-SERVICE`
      hook.answer(() => ({ status, body }))
      const [outcome] = await sink.deliver([messageOf()], never)
      expect(outcome).toMatchObject({ kind: 'retry', detail: expect.stringMatching(/\[redacted\]$/) })
      expect(JSON.stringify(outcome)).not.toMatch(TELLTALE)
    }
  },
)

test('what an answer says besides stays readable', async () => {
  const body = 'the token of team shop is not known, see https://example.com/help?topic=tokens'
  const options = { headers: { authorization: 'Bearer T0KEN-IN-HEADER' } }
  expect(await deliverTo({ status: 404, body }, options)).toMatchObject({ detail: `HTTP 404: ${body}` })
})
