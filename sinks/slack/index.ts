import {
  createMask,
  defineSink,
  groupByOf,
  type Health,
  type SchemaIssue,
  type SinkContext,
  TemplateFault,
} from '../../src/sink/index.ts'
import { channelName, isChannelId, spelled } from './channels.ts'
import { type Answer, createSlackApi, createTransport, type SlackApi } from './client.ts'
import { SlackConfig, SlackRoute, WEBHOOK_CHANNEL, WEBHOOK_MODE } from './config.ts'
import { channelOf, createDelivery } from './deliver.ts'
import { openInteractions } from './interactions.ts'
import { inMrkdwn, plainOfMrkdwn } from './markup.ts'
import { createApiPoster, createFailingChannels, createWebhookPoster } from './post.ts'
import { createBucket, createBuckets } from './rate-limit.ts'
import { createRootMessages, createThreads } from './thread-store.ts'
import { createThreadDelivery } from './threads.ts'

/** Slack's limit of updates is 50 a minute for all of an app's channels. */
const UPDATES = { perSecond: 50 / 60, burst: 10 }
const UPDATE_EVERY_MS = 3_000
/** Beyond the time that opening a thread can take: two calls, for a message may need a plainer one. */
const LOCK_MARGIN_MS = 5_000

/**
 * Sends notifications to Slack: messages, threads that keep their first message up to date, or digests during
 * floods.
 */
export default defineSink<SlackConfig, SlackRoute>({
  apiVersion: 1,
  type: 'slack',
  config: SlackConfig,
  route: SlackRoute,
  checkRoute,
  escape: inMrkdwn,
  plain: plainOfMrkdwn,
  showsChanges: () => true,
  maxBatch: 500,
  example: `{ type: slack, token: "\${env:SLACK_TOKEN}", channel: "#kubernetes" }`,
  // For dry runs in which the variables of these options are missing.
  placeholders: {
    token: 'xoxb-kubeherald-placeholder',
    appToken: 'xapp-kubeherald-placeholder',
    channel: '#kubeherald-placeholder',
  },
  preview(message, config) {
    const channel = channelOf(message, config)
    if (typeof channel !== 'string')
      throw new TemplateFault('detail' in channel ? channel.detail : channel.kind)
    if (config.url) return { target: 'the channel of its webhook' }
    const groupBy = groupByOf(message, config.groupBy)
    return {
      target: spelled(channel),
      options: { channel: spelled(channel), ...(groupBy !== undefined && { groupBy }) },
    }
  },
  lane(subject, config) {
    try {
      const channel = channelOf(subject, config)
      return typeof channel === 'string' ? channel : NOWHERE
    } catch {
      return NOWHERE
    }
  },
  async open(config, context) {
    const { clock, log } = context
    const fetching = createTransport(config)
    const mask = createMask(secretsOf(config))
    const common = { timeoutMs: config.timeout, userAgent: context.userAgent, mask }
    const count = countersOf(context)
    const now = () => clock.now()
    const posting = { failing: createFailingChannels(log, now, count.failing), onFallback: count.fallback }
    const api = config.token
      ? await createSlackApi({ ...common, token: config.token, apiUrl: config.apiUrl }, fetching)
      : undefined
    const sender = api
      ? createApiPoster(api, posting)
      : createWebhookPoster({ ...common, url: config.url as URL }, fetching, posting)
    const updates = createBucket(UPDATES)
    const buckets = createBuckets(config.rate)
    const bucketOf = (channel: string) => buckets.of(channel)
    const threads = createThreads(context.store, config.threadTtl, 2 * config.timeout + LOCK_MARGIN_MS)
    const interactions =
      api && openInteractions({ config, context, api, poster: sender, threads, fetching, updates, mask })
    const poster = interactions?.poster ?? sender
    const everyMs = UPDATE_EVERY_MS
    const rootMessages = createRootMessages({ poster, threads, bucket: updates, log, everyMs })
    const threadDelivery = createThreadDelivery({
      poster,
      threads,
      rootMessages,
      bucketOf,
      updates,
      buttonsOf: (message) => interactions?.buttonsOf(message),
      log,
      now,
      everyMs,
    })
    const deliver = createDelivery({
      config,
      poster,
      threads: threadDelivery,
      bucketOf,
      now,
      onDigest: count.digest,
      onThrottled: count.throttled,
    })
    return {
      deliver,
      async health(signal) {
        if (api) return joined(await checkSlack(api, config, signal), await interactions?.health(signal))
        const warning = 'an incoming webhook cannot be checked without posting: the first message will show'
        return { ok: true, warnings: [warning] }
      },
      warnings: () => interactions?.warnings() ?? [],
      async close() {
        await interactions?.close()
        await rootMessages.close()
        await fetching.close()
      },
    }
  },
})

/** The lane of deliveries that will be rejected. */
const NOWHERE = 'nowhere'

function countersOf({ metrics }: SinkContext) {
  const digests = metrics.counter('digests_total', 'Digests sent instead of single messages.')
  const digested = metrics.counter('digested_events_total', 'Events that were sent in digests.')
  const fallbacks = metrics.counter(
    'fallbacks_total',
    'Messages that Slack refused and that went as plain text.',
  )
  const throttled = metrics.counter('throttled_total', 'Times that Slack asked to slow down.')
  const failing = metrics.gauge(
    'troubles',
    'Channels, or the sink as a whole, for which an operator has to act.',
  )
  return {
    digest(members: number) {
      digests()
      digested(members)
    },
    fallback: () => fallbacks(),
    throttled: () => throttled(),
    failing,
  }
}

/** Secrets that outcomes and logs must not contain. */
function secretsOf({ token, url, proxy, actions }: SlackConfig): string[] {
  const parts = url ? [url.href, url.pathname, ...url.pathname.split('/').filter((it) => it.length >= 8)] : []
  return [token, actions?.appToken, url?.password, proxy?.password, ...parts].filter(
    (it) => it !== undefined && it !== '',
  ) as string[]
}

/** Buttons that do not work are no reason to hold back messages. */
function joined(health: Health, other: Health | undefined): Health {
  if (!health.ok || !other) return health
  if (!other.ok) return other
  const warnings = [...(health.warnings ?? []), ...(other.warnings ?? [])]
  return warnings.length > 0 ? { ok: true, warnings } : { ok: true }
}

/** Checks options of a rule that depend on the sink's. */
function checkRoute({ channel, mode }: SlackRoute, { url, allowChannels }: SlackConfig): SchemaIssue[] {
  const issues: SchemaIssue[] = []
  if (url) {
    if (channel) issues.push({ path: ['channel'], message: WEBHOOK_CHANNEL })
    if (mode !== undefined && mode !== 'message') issues.push({ path: ['mode'], message: WEBHOOK_MODE })
  } else if (channel && !channel.constant && allowChannels.length === 0) {
    const message =
      'is a template: the sink needs allowChannels, the channels (or globs, "#team-*") that it may choose'
    issues.push({ path: ['channel'], message })
  }
  return issues
}

const PAGES = 5
const PAGE = 1_000

/** Checks that the token works, may post, and reaches the configured channels. */
async function checkSlack(api: SlackApi, config: SlackConfig, signal: AbortSignal): Promise<Health> {
  const about = { channel: 'the workspace', threaded: false }
  const called = await api.call('auth.test', {}, about, signal)
  if (!called.ok) {
    const { verdict } = called
    if (verdict.kind === 'operator') return { ok: false, reason: verdict.reason, detail: verdict.detail }
    if (verdict.kind === 'retry')
      return { ok: false, reason: verdict.outcome.reason, detail: verdict.outcome.detail }
    return { ok: false, reason: 'unknown', detail: 'auth.test failed' }
  }
  const scopes = scopesOf(called.answer)
  if (!scopes) return { ok: true, warnings: ['Slack did not return the scopes of the token: not checked'] }
  if (!scopes.has('chat:write'))
    return {
      ok: false,
      reason: 'auth',
      detail:
        'the token lacks the scope chat:write: add it to the app (OAuth & Permissions) and reinstall it',
    }
  const found = await findChannels(api, config, scopes, signal)
  const wanted = constantChannels(config)
  const problems = wanted.needed.map((it) => found(it)).filter((it) => it !== undefined)
  if (problems.length > 0) return { ok: false, reason: 'config', detail: problems.join('; ') }
  const warnings = [
    ...wanted.listed.map((it) => found(it)).filter((it) => it !== undefined),
    ...(scopes.has('chat:write.public')
      ? []
      : ['without the scope chat:write.public the app must be a member (/invite) of every channel']),
    ...(scopes.has('channels:read')
      ? []
      : ['without the scope channels:read it is not checked whether the channels exist']),
  ]
  return warnings.length > 0 ? { ok: true, warnings } : { ok: true }
}

function scopesOf({ response_metadata: more }: Answer): Set<string> | undefined {
  const scopes = (more as { scopes?: unknown } | undefined)?.scopes
  return Array.isArray(scopes) ? new Set(scopes.map(String)) : undefined
}

/** `needed`: the channel, if it is not a template, and its fallback; `listed`: others that a template may choose, without patterns. */
function constantChannels({ channel, fallbackChannel, allowChannels }: SlackConfig) {
  const constant = channel?.constant ? channelName(channel.source) : undefined
  const needed = [constant, fallbackChannel].filter((it) => it !== undefined)
  return { needed, listed: allowChannels.filter((it) => !it.includes('*') && !needed.includes(it)) }
}

interface Channel {
  id?: string
  name?: string
  is_archived?: boolean
  is_member?: boolean
  is_private?: boolean
}

/** Returns a function that returns the problem of a channel; undefined if it has none or is unknown. */
async function findChannels(
  api: SlackApi,
  config: SlackConfig,
  scopes: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<(channel: string) => string | undefined> {
  if (!scopes.has('channels:read')) return () => undefined
  const { needed, listed } = constantChannels(config)
  const all = [...needed, ...listed]
  const known = new Map<string, Channel | 'missing'>()
  for (const id of all.filter(isChannelId)) {
    const about = { channel: id, threaded: false }
    const called = await api.call('conversations.info', { channel: id }, about, signal)
    if (called.ok) known.set(id, called.answer['channel'] as Channel)
    else if (called.verdict.kind === 'operator' && called.verdict.code === 'channel_not_found')
      known.set(id, 'missing')
  }
  const names = all.filter((it) => !isChannelId(it))
  const complete = names.length === 0 || (await listChannels(api, names, scopes, known, signal))
  return (channel) => {
    const it = known.get(channel) ?? (complete && !isChannelId(channel) ? 'missing' : undefined)
    const name = spelled(channel)
    if (it === undefined) return undefined
    if (it === 'missing')
      return scopes.has('groups:read')
        ? `there is no ${name}, or it is private and the app is not in it: correct the name, or /invite the app there`
        : `there is no public ${name}: correct the name; if it is private, /invite the app there and add the scope groups:read`
    if (it.is_archived) return `${name} is archived: unarchive it, or choose another channel`
    if (it.is_member === false && (it.is_private || !scopes.has('chat:write.public')))
      return `the app is not in ${name}: /invite it there, or give it chat:write.public`
    return undefined
  }
}

/** Looks the names up, page by page. Returns whether all pages were read. */
async function listChannels(
  api: SlackApi,
  names: readonly string[],
  scopes: ReadonlySet<string>,
  known: Map<string, Channel | 'missing'>,
  signal: AbortSignal,
): Promise<boolean> {
  const types = scopes.has('groups:read') ? 'public_channel,private_channel' : 'public_channel'
  let cursor = ''
  for (let page = 0; page < PAGES; page++) {
    const args = { types, limit: PAGE, ...(cursor && { cursor }) }
    const called = await api.call(
      'conversations.list',
      args,
      { channel: 'the channels', threaded: false },
      signal,
    )
    if (!called.ok) return false
    const { channels, response_metadata: more } = called.answer
    for (const it of (Array.isArray(channels) ? channels : []) as Channel[])
      if (it.name && names.includes(it.name)) known.set(it.name, it)
    cursor = String((more as { next_cursor?: unknown } | undefined)?.next_cursor ?? '')
    if (cursor === '' || names.every((it) => known.has(it))) return true
  }
  return false
}
