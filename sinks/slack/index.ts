import { createMask, defineSink, type SinkContext, TemplateFault } from '../../src/sink/index.ts'
import { createBucket, createBuckets } from './bucket.ts'
import { spelled } from './channel.ts'
import { checkRoute } from './check-route.ts'
import { createSlackApi } from './client.ts'
import { SlackConfig, SlackRoute } from './config.ts'
import { channelOf, createDelivery } from './deliver.ts'
import { createFetching } from './fetch.ts'
import { checkSlack } from './health.ts'
import { inMrkdwn } from './markup.ts'
import { createApiPoster, createWebhookPoster } from './post.ts'
import { createRoots } from './roots.ts'
import { createTelling } from './tell.ts'
import { createThreads } from './thread.ts'
import { createTroubles } from './troubles.ts'

/** Slack's limit of updates is 50 a minute for all of an app's channels. */
const UPDATES = { perSecond: 50 / 60, burst: 10 }
const UPDATE_EVERY_MS = 3_000
/** Beyond the time that opening a thread can take: two calls, for a message may need a plainer one. */
const LOCK_MARGIN_MS = 5_000

/** Tells people in Slack: messages, threads that keep their first message up to date, or digests when there is too much. */
export default defineSink<SlackConfig, SlackRoute>({
  apiVersion: 1,
  type: 'slack',
  config: SlackConfig,
  route: SlackRoute,
  checkRoute,
  escape: inMrkdwn,
  tellsChanges: () => true,
  maxBatch: 500,
  preview(message, config) {
    const channel = channelOf(message, config)
    if (typeof channel !== 'string')
      throw new TemplateFault('detail' in channel ? channel.detail : channel.kind)
    return { target: config.url ? 'the channel of its webhook' : spelled(channel) }
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
    const fetching = createFetching(config)
    const mask = createMask(secretsOf(config))
    const common = { timeoutMs: config.timeout, userAgent: context.userAgent, mask }
    const count = countersOf(context)
    const now = () => clock.now()
    const posting = { troubles: createTroubles(log, now, count.troubles), onFallback: count.fallback }
    const api = config.token
      ? await createSlackApi({ ...common, token: config.token, apiUrl: config.apiUrl }, fetching)
      : undefined
    const poster = api
      ? createApiPoster(api, posting)
      : createWebhookPoster({ ...common, url: config.url as URL }, fetching, posting)
    const updates = createBucket(UPDATES)
    const buckets = createBuckets(config.rate)
    const bucketOf = (channel: string) => buckets.of(channel)
    const threads = createThreads(context.store, config.threadTtl, 2 * config.timeout + LOCK_MARGIN_MS)
    const everyMs = UPDATE_EVERY_MS
    const roots = createRoots({ poster, threads, bucket: updates, log, everyMs })
    const telling = createTelling({ poster, threads, roots, bucketOf, updates, log, now, everyMs })
    const deliver = createDelivery({
      config,
      poster,
      telling,
      bucketOf,
      now,
      onDigest: count.digest,
      onThrottled: count.throttled,
    })
    return {
      deliver,
      async health(signal) {
        if (api) return checkSlack(api, config, signal)
        const warning = 'an incoming webhook cannot be checked without posting: the first message will show'
        return { ok: true, warnings: [warning] }
      },
      async close() {
        await roots.close()
        await fetching.close()
      },
    }
  },
})

/** The lane of what will be refused. */
const NOWHERE = 'nowhere'

function countersOf({ metrics }: SinkContext) {
  const digests = metrics.counter('digests_total', 'Digests sent instead of single messages.')
  const digested = metrics.counter('digested_events_total', 'Events that were told in digests.')
  const fallbacks = metrics.counter(
    'fallbacks_total',
    'Messages that Slack refused and that went as plain text.',
  )
  const throttled = metrics.counter('throttled_total', 'Times that Slack asked to slow down.')
  const troubles = metrics.gauge(
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
    troubles,
  }
}

/** What outcomes and logs must not tell. */
function secretsOf({ token, url, proxy }: SlackConfig): string[] {
  const parts = url ? [url.href, url.pathname, ...url.pathname.split('/').filter((it) => it.length >= 8)] : []
  return [token, url?.password, proxy?.password, ...parts].filter(
    (it) => it !== undefined && it !== '',
  ) as string[]
}
