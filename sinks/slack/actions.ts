import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import type { Logger, SinkActions } from '../../src/sink/index.ts'
import type { Actions } from './action-options.ts'
import { durationLabel, isOurs, objectText, type Request, readValue, withNote } from './buttons.ts'
import { isAllowed } from './channels.ts'
import type { SlackApi, Transport } from './client.ts'
import { cutMarkup, cutText, dateOf, inMrkdwn, oneLine, type Rendered } from './markup.ts'
import type { Poster } from './post.ts'
import type { Bucket } from './rate-limit.ts'
import type { Threads } from './thread-store.ts'

/** The parts of the payload that are used (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload). */
const Payload = z.object({
  type: z.literal('block_actions'),
  api_app_id: z.string().max(100),
  user: z.object({
    id: z.string().regex(/^[UW][A-Z0-9]{1,30}$/),
    username: z.string().optional(),
    name: z.string().optional(),
    team_id: z.string().optional(),
  }),
  channel: z.object({ id: z.string().regex(/^[CGD][A-Z0-9]{1,30}$/), name: z.string().optional() }),
  message: z.object({
    ts: z.string().regex(/^\d{1,12}\.\d{1,9}$/),
    thread_ts: z
      .string()
      .regex(/^\d{1,12}\.\d{1,9}$/)
      .optional(),
    text: z.string().optional(),
    attachments: z.unknown(),
  }),
  response_url: z.string().max(1_000).optional(),
  actions: z
    .array(
      z.object({
        action_id: z.string(),
        value: z.unknown(),
        action_ts: z
          .string()
          .regex(/^\d{1,12}\.\d{1,9}$/)
          .optional(),
      }),
    )
    .min(1)
    .max(25),
})
type Payload = z.output<typeof Payload>

/** Returns the sink that a click is for, by its button; undefined if that cannot be read. */
export function sinkOfPayload(payload: unknown): string | undefined {
  const parsed = Payload.safeParse(payload)
  return parsed.success ? requestIn(parsed.data)?.sink : undefined
}

function requestIn({ actions }: Payload): Request | undefined {
  return readValue(actions.find(({ action_id }) => isOurs(action_id))?.value)
}

/** When the user clicked, in milliseconds of Slack's clock; undefined if Slack does not send it. */
function clickedMs({ actions }: Payload): number | undefined {
  const ts = actions.find(({ action_id }) => isOurs(action_id))?.action_ts
  return ts === undefined ? undefined : Number(ts) * 1_000
}

interface HandlerParts {
  sink: string
  cluster: string
  config: Actions
  apiUrl: URL
  actions: SinkActions
  api: SlackApi
  poster: Poster
  threads: Threads
  transport: Transport
  /** The limit of updates. */
  updates: Bucket
  /** Whether the sink has written to this channel, by its id. */
  wroteTo(channelId: string): Promise<boolean>
  log: Logger
  /** Unix milliseconds. */
  now(): number
}

export interface ActionHandler {
  handle(payload: unknown, appId: string | undefined): void
  /** Ends when no click is being handled any more, within CLOSE_MS. */
  close(): Promise<void>
}

/** Users do not click more often than this in the same moment. */
const MOST_CONCURRENT = 20
const LIMIT_MS = 20_000
/** Slack delivers clicks late, after a connection was lost. What was right then may be wrong by now. */
const MAX_AGE_MS = 300_000
const CLOSE_MS = 2_000
const LOCK_POLL_MS = 100
const LOCK_POLLS = 30
const MOST_TRIES = 3
const LONGEST_WAIT_MS = 5_000

/** Acts on clicks: checks who clicked where, does what the button is for, logs it and answers in the thread. It never throws. */
export function createActionHandler(parts: HandlerParts): ActionHandler {
  const { sink, cluster, config, actions, api, threads, log } = parts
  const running = new Set<Promise<void>>()
  const closing = new AbortController()

  async function run(click: Payload): Promise<void> {
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(LIMIT_MS)])
    const request = requestIn(click)
    try {
      const refusal = await refusalOf(click, request, signal)
      if (refusal !== undefined || !request) {
        audit(click, request, 'refused', refusal)
        return await answerAlone(click, refusal ?? NOT_OURS, signal)
      }
      const answer = await once(request, () => act(click, request), signal)
      audit(click, request, answer.result, answer.text)
      if (answer.result === 'refused') return await answerAlone(click, answer.text, signal)
      await reply(click, answer.text, signal)
      if (answer.note !== undefined) await showOnMessage(click, answer.note, signal)
    } catch (error) {
      log.warn({ error }, 'a click could not be handled')
      audit(click, request, 'failed', String((error as Error)?.message ?? error))
      await answerAlone(click, 'that did not work: try again in a minute', signal)
    }
  }

  /** Returns why a click must not be acted on, as its user reads it; undefined if it may. */
  async function refusalOf(
    click: Payload,
    request: Request | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (!request) return NOT_OURS
    const { user, channel } = click
    const ageMs = parts.now() - (clickedMs(click) ?? Number.NEGATIVE_INFINITY)
    if (ageMs > MAX_AGE_MS) return lateText(ageMs)
    if (request.cluster !== cluster)
      return `this message is from the cluster ${inMrkdwn(cutText(request.cluster, 100))}, and its click came to ${inMrkdwn(cluster)}: each cluster needs a Slack app of its own`
    if (request.sink !== sink) return 'the sink of this message is not configured any more'
    if (!(await isUserAllowed(user, signal)))
      return `you may not use the buttons of ${inMrkdwn(sink)}: an operator can add your id, ${user.id}, to \`actions.users\``
    if (!(await isChannelAllowed(channel)))
      return `the buttons of ${inMrkdwn(sink)} do not work in this channel: an operator can add its id, ${channel.id}, to \`actions.channels\``
    const { forMs, target } = request
    const offers = actions.of(target.rule)
    const isOffered =
      forMs === undefined
        ? offers.includes('acknowledge')
        : offers.includes('silence') && config.silence.includes(forMs)
    return isOffered ? undefined : 'the configuration does not offer this any more'
  }

  async function isUserAllowed(
    { id, team_id: team }: Payload['user'],
    signal: AbortSignal,
  ): Promise<boolean> {
    if (config.users) return config.users.includes(id)
    // In a channel shared with another company, "anyone" is anyone of ours.
    const own = await ownTeam(api, signal)
    return own !== undefined && team === own
  }

  async function isChannelAllowed({ id, name }: Payload['channel']): Promise<boolean> {
    if (!config.channels) return parts.wroteTo(id)
    return isAllowed(id, config.channels) || (name !== undefined && isAllowed(name, config.channels))
  }

  async function act(click: Payload, { target, forMs }: Request): Promise<Acted> {
    const who = `<@${click.user.id}>`
    const by = actorOf(click.user)
    const about = `rule ${inMrkdwn(cutMarkup(oneLine(target.rule), 200))}, ${inMrkdwn(cutMarkup(objectText(target), 600))}`
    if (forMs === undefined) {
      const answer = await actions.acknowledge(target, by)
      if (answer.kind === 'none')
        return { result: 'nothing', text: `there is no open incident any more: ${about}` }
      if (answer.kind === 'already')
        return {
          result: 'already',
          text: `already acknowledged by ${inMrkdwn(answer.by)}, ${dateOf(answer.atMs)}: ${about}`,
        }
      return {
        result: 'done',
        text: `👀 acknowledged by ${who}: ${about}; until it is resolved, nothing more is sent about it`,
        note: `👀 acknowledged by ${who}`,
      }
    }
    const answer = await actions.silence(target, forMs, by)
    if (answer.kind === 'refused') return { result: 'refused', text: inMrkdwn(answer.detail) }
    const until = dateOf(answer.untilMs)
    const end = `to end it: \`kubeherald silence expire ${answer.id}\``
    if (answer.kind === 'already')
      return {
        result: 'already',
        text: `already silenced until ${until} by ${inMrkdwn(answer.by)}: ${about}; ${end}`,
      }
    return {
      result: 'done',
      text: `🔕 silenced for ${durationLabel(forMs)}, until ${until}, by ${who}: ${about}; ${end}`,
      note: `🔕 silenced until ${until} by ${who}`,
    }
  }

  /** One click at a time for the same button, also over processes. */
  async function once<T>(request: Request, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const key = `action:${createHash('sha256').update(JSON.stringify(request)).digest('hex').slice(0, 32)}`
    for (let polls = 0; ; polls++) {
      const lock = await threads.lock(key)
      if (!lock && polls < LOCK_POLLS) {
        await sleep(LOCK_POLL_MS, undefined, { signal })
        continue
      }
      try {
        return await work()
      } finally {
        await lock?.release()
      }
    }
  }

  /** Only the user sees it. */
  async function answerAlone(
    { response_url: url, user, channel, message }: Payload,
    text: string,
    signal: AbortSignal,
  ): Promise<void> {
    if (url === undefined || !isAnswerUrl(url, parts.apiUrl)) return
    const body = JSON.stringify({ response_type: 'ephemeral', replace_original: false, text })
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    const isAnswered = await parts.transport
      .fetch(url, { method: 'POST', headers, body }, signal)
      .then(({ ok }) => ok)
      .catch(() => false)
    if (isAnswered) return
    // The address is good for 30 minutes.
    const thread = message.thread_ts !== undefined && { thread_ts: message.thread_ts }
    const args = { channel: channel.id, user: user.id, text, ...thread }
    const about = { channel: channel.id, threaded: false }
    const called = await api.call('chat.postEphemeral', args, about, signal)
    if (!called.ok) log.debug({ verdict: called.verdict }, 'a click could not be answered')
  }

  async function reply({ channel, message }: Payload, text: string, signal: AbortSignal): Promise<void> {
    const rendered: Rendered = { text, attachments: [], plain: text, truncated: false }
    for (let tries = 1; ; tries++) {
      const sent = await parts.poster.post(channel.id, rendered, signal, message.thread_ts ?? message.ts)
      if (sent.kind !== 'failed' || sent.outcome.kind !== 'retry') return
      if (tries === MOST_TRIES)
        return log.warn({ detail: sent.outcome.detail }, 'the reply to a click was not sent')
      await sleep(Math.min(sent.outcome.afterMs ?? 1_000, LONGEST_WAIT_MS), undefined, { signal })
    }
  }

  async function showOnMessage(
    { channel, message }: Payload,
    note: string,
    signal: AbortSignal,
  ): Promise<void> {
    const attachments = withNote(message.attachments, note)
    if (!attachments) return
    const waitMs = parts.updates.take()
    if (waitMs > 0) await sleep(Math.min(waitMs, LONGEST_WAIT_MS), undefined, { signal })
    const args = { channel: channel.id, ts: message.ts, text: message.text ?? '', attachments, parse: 'none' }
    const called = await api.call('chat.update', args, { channel: channel.id, threaded: true }, signal)
    if (!called.ok) log.debug({ verdict: called.verdict }, 'a message does not show what was clicked')
  }

  function audit(
    click: Payload,
    request: Request | undefined,
    result: Result,
    detail: string | undefined,
  ): void {
    const { user, channel, message } = click
    const fields = {
      audit: true,
      who: `slack:${user.id}`,
      ...(userName(user) !== '' && { name: userName(user) }),
      operation: !request ? 'unknown' : request.forMs === undefined ? 'acknowledge' : 'silence',
      ...(request && {
        params: { ...request.target, ...(request.forMs !== undefined && { forMs: request.forMs }) },
      }),
      channel: channel.id,
      ts: message.ts,
      result,
      ...(detail !== undefined && { detail: cutText(detail, 500) }),
    }
    if (result === 'refused' || result === 'failed') log.warn(fields, 'an action by a button in Slack')
    else log.info(fields, 'an action by a button in Slack')
  }

  return {
    handle(payload, appId) {
      const parsed = Payload.safeParse(payload)
      if (!parsed.success) return log.debug({}, 'an interaction that is not a click in a message')
      if (!parsed.data.actions.some(({ action_id }) => isOurs(action_id))) return
      if (appId !== undefined && parsed.data.api_app_id !== appId)
        return log.warn({ appId: parsed.data.api_app_id }, 'a click in a message of another app is ignored')
      if (closing.signal.aborted || running.size >= MOST_CONCURRENT)
        return log.warn(
          { who: `slack:${parsed.data.user.id}` },
          'too many clicks in the same moment: one is ignored',
        )
      const one: Promise<void> = run(parsed.data)
        .catch((error) => log.warn({ error }, 'a click could not be handled'))
        .finally(() => running.delete(one))
      running.add(one)
    },
    async close() {
      const limit = setTimeout(() => closing.abort(), CLOSE_MS)
      await Promise.all(running)
      clearTimeout(limit)
      closing.abort()
    },
  }
}

function lateText(ageMs: number): string {
  if (!Number.isFinite(ageMs)) return 'it is not known when this button was clicked, so nothing was done'
  return `this click arrived ${Math.floor(ageMs / 60_000)} min late, so nothing was done: click again if you still want it`
}

const NOT_OURS = 'this button cannot be read: it is of another version'

type Result = 'done' | 'already' | 'nothing' | 'refused' | 'failed'

interface Acted {
  result: Result
  /** In mrkdwn. */
  text: string
  /** For the message itself. */
  note?: string
}

/** `slack:U0123456789 (alice)`. A user can change the name; the id identifies the user. */
function actorOf(user: Payload['user']): string {
  const name = userName(user)
  return name === '' ? `slack:${user.id}` : `slack:${user.id} (${name})`
}

function userName({ username, name }: Payload['user']): string {
  return cutText(oneLine(username ?? name ?? '').trim(), 50)
}

/** Slack's own address, or where the Web API is: `https://hooks.slack.com/actions/…`. */
function isAnswerUrl(text: string, apiUrl: URL): boolean {
  if (!URL.canParse(text)) return false
  const { origin } = new URL(text)
  return origin === apiUrl.origin || origin === `https://hooks.${apiUrl.hostname}`
}

const teams = new WeakMap<SlackApi, string>()

/** The workspace of the token; undefined if Slack does not answer. */
async function ownTeam(api: SlackApi, signal: AbortSignal): Promise<string | undefined> {
  const known = teams.get(api)
  if (known !== undefined) return known
  const called = await api.call('auth.test', {}, { channel: 'the workspace', threaded: false }, signal)
  const team = called.ok ? called.answer['team_id'] : undefined
  if (typeof team !== 'string') return undefined
  teams.set(api, team)
  return team
}
