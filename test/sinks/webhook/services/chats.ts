import { createHmac } from 'node:crypto'
import type { Answer } from '../../../servers/receiver.ts'
import { bytesOf, json, jsonIn, type Service, textFault } from './service.ts'

const FAST = { ratePerMinute: 100_000 }
const TELEGRAM_TAGS = ['b', 'i', 'code', 'pre', 'a']

/** Returns what Telegram refuses in HTML: tags that it does not know or that do not end, entities that are none. */
function htmlFault(html: string): string | undefined {
  const open: string[] = []
  for (const [, end, tag = ''] of html.matchAll(/<(\/?)([^\s>]*)[^>]*>/g)) {
    if (!TELEGRAM_TAGS.includes(tag)) return `Unsupported start tag "${tag}"`
    if (end === '') open.push(tag)
    else if (open.pop() !== tag) return `Unexpected end tag "${tag}"`
  }
  if (open.length > 0) return `Can't find end tag corresponding to start tag "${open.at(-1)}"`
  const rest = html.replace(/<\/?[^>]*>/g, '').replace(/&(#\d+|lt|gt|amp|quot);/g, '')
  return /[<>]/.test(rest) ? 'Unsupported start tag' : undefined
}

/** The method sendMessage. */
export function createTelegram(): Service {
  const fault = (status: number, description: string) =>
    json(status, { ok: false, error_code: status, description })
  return {
    name: 'telegram',
    options: { token: '123:the-right-token', chatId: '-100123', ...FAST },
    wrong: { options: { token: '123:a-wrong-token', chatId: '-100123', ...FAST }, status: 401 },
    throttled: json(429, {
      ...{ ok: false, error_code: 429, description: 'Too Many Requests: retry after 1' },
      parameters: { retry_after: 1 },
    }),
    answer({ method, path, body }) {
      if (path !== '/bot123:the-right-token/sendMessage') return fault(401, 'Unauthorized')
      const it = jsonIn(body)
      if (method !== 'POST' || !it) return fault(400, 'Bad Request: can’t parse JSON')
      if (it.chat_id !== '-100123') return fault(400, 'Bad Request: chat not found')
      if (!it.text) return fault(400, 'Bad Request: message text is empty')
      const markup = htmlFault(it.text)
      if (it.parse_mode !== 'HTML' || markup)
        return fault(400, `Bad Request: can't parse entities: ${markup}`)
      if (it.text.length > 4_096) return fault(400, 'Bad Request: message is too long')
      return json(200, { ok: true, result: { message_id: 1 } })
    },
  }
}

/** Publishing as JSON. */
export function createNtfy(): Service {
  const fault = (status: number, code: number, error: string) => json(status, { code, http: status, error })
  return {
    name: 'ntfy',
    options: { topic: 'kubernetes', token: 'the-right-token' },
    wrong: { options: { topic: 'kubernetes', token: 'a-wrong-token' }, status: 401 },
    throttled: fault(429, 42901, 'limit reached: too many requests'),
    answer({ method, path, headers, body }) {
      if (headers.authorization !== 'Bearer the-right-token') return fault(401, 40101, 'unauthorized')
      if (bytesOf(body) >= 8_192) return fault(413, 41303, 'JSON body too large')
      const it = jsonIn(body)
      if (method !== 'POST' || path !== '/' || it?.topic !== 'kubernetes') return fault(400, 40024, 'JSON')
      if (typeof it.message !== 'string' || bytesOf(it.message) >= 4_096)
        return fault(400, 40014, 'attachments not allowed')
      if (!Number.isInteger(it.priority) || it.priority < 1 || it.priority > 5)
        return fault(400, 40007, 'priority')
      if ((it.actions ?? []).length > 3) return fault(400, 40018, 'actions invalid: only 3 actions allowed')
      return json(200, { id: 'x', event: 'message' })
    },
  }
}

/** An incoming webhook; the address is the credential. */
export function createRocketChat(): Service {
  return {
    name: 'rocket-chat',
    options: { headers: { authorization: 'the-right-one' }, channel: '#ops' },
    wrong: { options: { headers: { authorization: 'a-wrong-one' } }, status: 400 },
    throttled: json(429, { success: false, error: 'Error, too many requests' }),
    refusal: json(400, { success: false, error: 'error-message-size-exceeded' }),
    answer({ headers, body }) {
      if (headers.authorization !== 'the-right-one')
        return json(400, { success: false, error: 'Invalid integration id or token provided.' })
      const [attachment] = jsonIn(body)?.attachments ?? []
      if (!attachment?.title) return json(400, { success: false, error: 'Message must not be empty' })
      const fields = attachment.fields.map((it: any) => it.title + it.value).join('')
      const length = attachment.title.length + attachment.text.length + fields.length
      return length > 5_000
        ? json(400, { success: false, error: 'error-message-size-exceeded' })
        : json(200, { success: true })
    },
  }
}

/** Sending of a message event: a transaction id that is known answers as before, and stores nothing. */
export function createMatrix() {
  const events = new Map<string, any>()
  const service: Service = {
    name: 'matrix',
    forget: () => events.clear(),
    options: { token: 'the-right-token', room: '!ops:example.com' },
    wrong: { options: { token: 'a-wrong-token', room: '!ops:example.com' }, status: 401 },
    throttled: json(429, { errcode: 'M_LIMIT_EXCEEDED', error: 'Too many requests', retry_after_ms: 700 }),
    answer({ method, path, headers, body }) {
      if (headers.authorization !== 'Bearer the-right-token') return json(401, { errcode: 'M_UNKNOWN_TOKEN' })
      const [, room = '', transaction = ''] =
        /^\/_matrix\/client\/v3\/rooms\/([^/]+)\/send\/m\.room\.message\/(\w+)$/.exec(path) ?? []
      if (method !== 'PUT' || transaction === '') return json(405, { errcode: 'M_UNRECOGNIZED' })
      if (decodeURIComponent(room) !== '!ops:example.com') return json(403, { errcode: 'M_FORBIDDEN' })
      const it = jsonIn(body)
      if (!it?.msgtype || typeof it.body !== 'string') return json(400, { errcode: 'M_BAD_JSON' })
      if (bytesOf(body) > 60_000) return json(413, { errcode: 'M_TOO_LARGE' })
      if (!events.has(transaction)) events.set(transaction, it)
      return json(200, { event_id: `$${transaction}` })
    },
  }
  return { service, events }
}

const SIGNING_SECRET = 'SEC0123456789'

/** A custom bot that demands signatures; like all three of these, it answers 200 to everything. */
export function createLark(): Service {
  const fault = (code: number, msg: string) => json(200, { code, msg, data: {} })
  return {
    name: 'lark',
    options: { signingSecret: SIGNING_SECRET, ...FAST },
    wrong: { options: { signingSecret: 'SEC-a-wrong-one', ...FAST }, status: 200 },
    throttled: fault(11232, 'frequency limited'),
    answer({ body }) {
      const it = jsonIn(body)
      const sign = createHmac('sha256', `${it?.timestamp}\n${SIGNING_SECRET}`).digest('base64')
      if (it?.sign !== sign || Math.abs(Date.now() / 1_000 - it.timestamp) > 3_600)
        return fault(19021, 'sign match fail or timestamp is not within one hour from current time')
      if (it.msg_type !== 'interactive' || !it.card?.header?.title?.content) return fault(9499, 'Bad Request')
      if (bytesOf(body) > 20_480) return fault(19036, 'too large')
      return json(200, { StatusCode: 0, StatusMessage: 'success', code: 0, data: {}, msg: 'success' })
    },
  }
}

/** A custom robot that demands signatures. */
export function createDingtalk(): Service {
  const fault = (errcode: number, errmsg: string) => json(200, { errcode, errmsg })
  return {
    name: 'dingtalk',
    options: { signingSecret: SIGNING_SECRET, ...FAST },
    wrong: { options: { signingSecret: 'SEC-a-wrong-one', ...FAST }, status: 200 },
    throttled: fault(130101, 'send too fast, exceed 20 times per minute'),
    answer({ path, body }) {
      const query = new URL(path, 'http://x').searchParams
      const time = query.get('timestamp')
      const sign = createHmac('sha256', SIGNING_SECRET).update(`${time}\n${SIGNING_SECRET}`).digest('base64')
      if (query.get('sign') !== sign) return fault(310000, 'sign not match')
      const it = jsonIn(body)
      if (it?.msgtype !== 'markdown' || !it.markdown?.title || !it.markdown.text) return fault(40035, 'param')
      if (bytesOf(body) > 20_000) return fault(460101, 'message too long')
      return fault(0, 'ok')
    },
  }
}

/** A group robot; the key in the address is the credential. */
export function createWecom(): Service {
  const fault = (errcode: number, errmsg: string) => json(200, { errcode, errmsg })
  return {
    name: 'wecom',
    options: { headers: { authorization: 'the-right-one' }, ...FAST },
    wrong: { options: { headers: { authorization: 'a-wrong-one' }, ...FAST }, status: 200 },
    throttled: fault(45009, 'api freq out of limit'),
    answer({ headers, body }) {
      if (headers.authorization !== 'the-right-one') return fault(93000, 'invalid webhook url')
      const it = jsonIn(body)
      if (it?.msgtype !== 'markdown') return fault(40008, 'invalid message type')
      if (textFault(it.markdown, { content: 4_096 }) || bytesOf(it.markdown.content) > 4_096)
        return fault(40058, 'markdown.content exceed max length 4096')
      return fault(0, 'ok')
    },
  }
}

/** A chat that takes any JSON at its address, which is the credential. `refusal` is its answer to a wrong one. */
function anyJson(name: Service['name'], member: string, refusal: Answer): Service {
  return {
    name,
    options: { headers: { authorization: 'the-right-one' } },
    wrong: { options: { headers: { authorization: 'a-wrong-one' } }, status: refusal.status ?? 200 },
    throttled: { status: 429, headers: { 'retry-after': '1' } },
    answer: ({ headers, body }) =>
      headers.authorization !== 'the-right-one' ? refusal : { status: jsonIn(body)?.[member] ? 200 : 400 },
  }
}

/** A workflow that is switched off or deleted. */
export const createTeams = () =>
  anyJson(
    'teams',
    'attachments',
    json(400, {
      error: {
        code: 'WorkflowTriggerIsNotEnabled',
        message:
          "Could not execute workflow '1f2e' trigger 'manual' with state 'Disabled': trigger is not enabled.",
      },
    }),
  )

/** The address is the credential. With `?wait=true` the answer has the stored message. */
export function createDiscord(): Service {
  return {
    name: 'discord',
    options: { headers: { authorization: 'the-right-one' } },
    wrong: { options: { headers: { authorization: 'a-wrong-one' } }, status: 401 },
    throttled: { status: 429, headers: { 'retry-after': '1' } },
    answer({ path, headers, body }) {
      if (headers.authorization !== 'the-right-one') return { status: 401 }
      const [embed] = jsonIn(body)?.embeds ?? []
      if (!embed?.title) return json(400, { message: 'Cannot send an empty message', code: 50_006 })
      if (embed.url !== undefined && !/[^.]\.[^.]/.test(new URL(embed.url).hostname))
        return json(400, { embeds: ['0'] })
      const waits = new URL(path, 'http://x').searchParams.get('wait') === 'true'
      return waits ? json(200, { id: '1' }) : { status: 204 }
    },
  }
}

/** A webhook that was deleted. */
export const createMattermost = () =>
  anyJson(
    'mattermost',
    'attachments',
    json(400, {
      id: 'web.incoming_webhook.invalid.app_error',
      message: 'Invalid webhook.',
      status_code: 400,
    }),
  )
/** A key that Google does not know. */
export const createGoogleChat = () =>
  anyJson(
    'google-chat',
    'cardsV2',
    json(400, {
      error: {
        code: 400,
        message: 'API key not valid. Please pass a valid API key.',
        status: 'INVALID_ARGUMENT',
        details: [{ reason: 'API_KEY_INVALID', domain: 'googleapis.com' }],
      },
    }),
  )
