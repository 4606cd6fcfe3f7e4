import {
  type ConfigSchema,
  createHttpClient,
  createMask,
  createSemaphore,
  defineSink,
  deliverInOrder,
  type Markup,
  type Message,
  type Outcome,
  type Reply,
  type Sink,
  type SinkContext,
  type SinkType,
  secretsOfHeaders,
  secretsOfUrl,
  shownPath,
} from '../../src/sink/index.ts'
import { type BatchReply, createBatches, type Item } from './batches.ts'
import { configured, configuredFor, type WebhookConfig } from './config.ts'
import { createPace } from './pace.ts'
import { PRESETS } from './presets/index.ts'
import type { PresetName } from './presets/names.ts'
import { SECRET_OPTIONS } from './presets/options.ts'
import {
  authorizationOf,
  compressed,
  createSender,
  envelopeOf,
  formatOf,
  presetOptions,
  shownUrl,
  urlOf,
  type Written,
} from './request.ts'
import type { Endpoint } from './request-options.ts'

const DEFAULT_CONCURRENCY = 64
/** The default while answers take less than `QUICK_MS` on average: the receiver has capacity left. */
const QUICK_CONCURRENCY = 128
const QUICK_MS = 100

/** The core stops a call after 60 s: what is under way then may have arrived, and would arrive again. */
const CALL_MS = 55_000
const DEFAULT_TIMEOUT_MS = 20_000
/** How long messages that wait are not sent after a 429, at most: then a request shows whether the limit is over. */
const MAX_QUIET_MS = 5_000
/** The same where the service names no time. */
const DEFAULT_QUIET_MS = 1_000
/** Where `url` has templates, such an answer may be about the address of one event. */
const OF_AN_ADDRESS = [401, 403, 404, 405, 410]
/** What waits for requests of others has not failed. */
const LATER: Outcome = { kind: 'later', afterMs: 0 }

/** For dry runs in which the variable of a secret is missing. */
const PLACEHOLDERS = { secret: `whsec_${Buffer.alloc(32).toString('base64')}` }

/**
 * Posts every event: as a CloudEvent, by a template, or in the format of a preset's service; one or many in a request; in order for each
 * object.
 */
export default typeOf('webhook', configured, {
  example: `{ type: webhook, url: "\${env:WEBHOOK_URL}", secret: "\${env:WEBHOOK_SECRET}" }`,
  placeholders: PLACEHOLDERS,
})

/** Returns the sink type that is a preset's: `type: loki` is `type: webhook` with `preset: loki`. */
export async function presetType(preset: PresetName): Promise<SinkType<WebhookConfig>> {
  const { example, placeholders, load } = PRESETS[preset]
  const { markup } = await load()
  return typeOf(preset, configuredFor(preset), {
    ...markup,
    example,
    placeholders: { ...PLACEHOLDERS, ...placeholders },
  })
}

function typeOf(
  type: string,
  config: ConfigSchema<WebhookConfig>,
  more: Pick<SinkType, 'example' | 'placeholders' | keyof Markup>,
): SinkType<WebhookConfig> {
  return defineSink<WebhookConfig>({
    apiVersion: 1,
    type,
    config,
    ...more,
    markup: ({ service }) => service?.markup ?? {},
    showsChanges: ({ preset }) => preset !== undefined,
    batches: (options) => formatOf(options, Date).batch !== undefined,
    preview(message, options) {
      const mask = createMask(secretsOf(options))
      const { method, url, preset } = options
      return {
        target: `${options.service?.method ?? method} ${shownUrl(endpointOf(options), message)}`,
        // Chat services have a secret in the path.
        ...(!preset && url && !url.template && { path: shownPath(url.base) }),
        body: mask(previewOf(message, options).body.toString()),
        ...(options.index && { options: { index: options.index.render(message).trim() } }),
      }
    },
    open,
  })
}

function previewOf(message: Message, options: WebhookConfig): Written {
  const format = formatOf(options, Date)
  return format.batch ? format.batch.body([format.batch.item(message)]) : format.write(message)
}

/** The configured address, or that of the preset. */
function endpointOf(config: WebhookConfig): Endpoint {
  const base = config.service?.url?.(presetOptions(config))
  const endpoint = config.url ?? (base && { base, template: undefined })
  if (!endpoint) throw new Error('url is missing')
  return endpoint
}

function open(config: WebhookConfig, { clock, userAgent, store }: SinkContext): Sink {
  const { service } = config
  const fixed = config.concurrency ?? service?.concurrency
  const concurrency = fixed ?? QUICK_CONCURRENCY
  let averageMs = Number.POSITIVE_INFINITY
  const endpoint = endpointOf(config)
  const format = formatOf(config, clock)
  const options = presetOptions(config)
  const secrets = secretsOf(config)
  const mask = createMask([...secrets, ...secretsOfUrl(endpoint.base)])
  const wanted = {
    connections: concurrency,
    timeoutMs: config.timeout,
    allowLinkLocal: config.allowLinkLocal,
    tls: config.tls,
    proxy: config.proxy,
    secrets,
  }
  const http = createHttpClient(wanted)
  // The name is that of the receiver's certificate.
  const isElsewhere = (config.auth?.oauth2?.tokenUrl.origin ?? endpoint.base.origin) !== endpoint.base.origin
  const tokenHttp = isElsewhere
    ? createHttpClient({ ...wanted, tls: { ...config.tls, servername: undefined } })
    : http
  const sender = createSender(config, http, {
    userAgent,
    clock,
    tokenHttp,
    conduct: {
      method: service?.method,
      headers: service?.headers?.(options),
      readBody: format.batch?.maxReplyBytes ?? service?.readsAnswers,
    },
  })
  const perMinute = config.ratePerMinute ?? service?.ratePerMinute
  const pace = perMinute === undefined ? undefined : createPace(store, perMinute, clock)
  const configuredUrl = urlOf(endpoint)
  // Shared by all lanes: a request's time begins when it is sent, not when it waits for others.
  const slots = createSemaphore(
    () => fixed ?? (averageMs < QUICK_MS ? QUICK_CONCURRENCY : DEFAULT_CONCURRENCY),
  )

  const beginMs = CALL_MS - (config.timeout ?? DEFAULT_TIMEOUT_MS)
  /** Whether too little is left of the time of a call, which began at `calledMs`, for one more request. */
  const isLate = (calledMs: number) => performance.now() - calledMs > beginMs
  // A chat or pager limits the messages to its address as a whole; another receiver's 429 may be that of one object.
  const limitsAll = service !== undefined && format.batch === undefined && endpoint.template === undefined
  /** No message is sent before, by `performance.now()`. */
  let quietUntilMs = 0

  /** Keeps messages that wait for a request from following a 429. The core knows only of calls, which began before. */
  function noteLimit(outcome: Outcome): void {
    if (!limitsAll || outcome.kind !== 'retry' || outcome.reason !== 'rate-limited') return
    quietUntilMs = performance.now() + Math.min(outcome.afterMs ?? DEFAULT_QUIET_MS, MAX_QUIET_MS)
  }

  async function request(
    url: URL,
    envelope: Parameters<typeof sender.send>[1],
    written: Written,
    signal: AbortSignal,
  ): Promise<Reply> {
    const body = config.compression === 'gzip' ? await compressed(written) : written
    const startedMs = performance.now()
    const reply = await sender.send(url, envelope, body, signal)
    const tookMs = performance.now() - startedMs
    const outcome = outcomeOf(reply)
    noteLimit(outcome)
    // A refusal may be quick because the receiver is overloaded.
    if (outcome.kind !== 'delivered') averageMs = Number.POSITIVE_INFINITY
    else averageMs = Number.isFinite(averageMs) ? averageMs + (tookMs - averageMs) / 16 : tookMs
    return { ...reply, outcome }
  }

  /** The preset knows answers that mean something else than their status. */
  function outcomeOf(reply: Reply): Outcome {
    const own = service?.answer?.(reply)
    const outcome = own ? masked(own) : reply.outcome
    const isThrottled = outcome.kind === 'retry' && outcome.reason === 'rate-limited'
    const afterMs = isThrottled ? service?.retryAfterMs?.(reply.body) : undefined
    if (outcome.kind !== 'retry') return outcome
    if (isThrottled) return afterMs === undefined ? outcome : { ...outcome, afterMs }
    const isOfAddress = endpoint.template !== undefined && OF_AN_ADDRESS.includes(reply.status)
    return isOfAddress ? { ...outcome, scope: 'event' } : outcome
  }

  function targetOf(message: Message): URL {
    const url = configuredUrl(message)
    return service?.target?.(url, { options, nowMs: clock.now(), message }) ?? url
  }

  /** May throw a TemplateFault, which `deliverInOrder` turns into an outcome. */
  async function deliverOne(message: Message, signal: AbortSignal): Promise<Outcome> {
    if (format.batch) throw new Error('a batch is not a single request')
    const quietMs = quietUntilMs - performance.now()
    if (quietMs > 0) return { kind: 'later', afterMs: quietMs }
    const written = format.write(message)
    const url = targetOf(message)
    const wait = await pace?.()
    if (wait) return wait
    const { outcome, status } = await request(url, message, written, signal)
    if (outcome.kind === 'delivered' && written.note) return { kind: 'delivered', note: written.note }
    if (status === 409 && message.attempt > 0 && config.repeatConflict === 'delivered')
      return { kind: 'delivered' }
    return outcome
  }

  const target = format.batch && batchTarget()

  /** One address for all batches. */
  function batchTarget(): URL {
    return service?.target?.(endpoint.base, { options, nowMs: clock.now() }) ?? endpoint.base
  }

  async function sendBatch(
    items: readonly Item[],
    signal: AbortSignal,
    calledMs: number,
  ): Promise<BatchReply> {
    const { batch } = format
    if (!batch || !target) throw new Error('a single request is not a batch')
    const envelope = envelopeOf(items.map(({ message }) => message))
    const reply = await slots.run(
      async () => (isLate(calledMs) ? undefined : request(target, envelope, batch.body(items), signal)),
      signal,
    )
    if (!reply) return { outcome: LATER, status: 0 }
    if (reply.outcome.kind !== 'delivered' || !batch.answers) return reply
    const each = batch.answers(reply.body, items)
    if (each) return { ...reply, each: each.map(masked) }
    const isCut = Buffer.byteLength(reply.body) >= (batch.maxReplyBytes ?? Number.POSITIVE_INFINITY)
    return { outcome: unreadable(reply), status: reply.status, isCut }
  }

  /** A preset cuts what it repeats of an answer, perhaps within a secret. */
  function masked(outcome: Outcome): Outcome {
    return 'detail' in outcome ? { ...outcome, detail: mask(outcome.detail, true) } : outcome
  }

  /** What became of the events is unknown. */
  function unreadable({ body }: Reply): Outcome {
    const said = body.slice(0, 200)
    const detail = mask(
      `the answer has no outcome for each event; is url that of the service? ${said}`.trimEnd(),
      true,
    )
    return { kind: 'retry', reason: 'server-error', detail, scope: 'sink', ambiguous: true }
  }

  const deliverBatches = format.batch && createBatches(format.batch, sendBatch)

  return {
    deliver(batch, signal) {
      if (deliverBatches) return deliverBatches(batch, signal)
      const calledMs = performance.now()
      return deliverInOrder(
        batch,
        { concurrency },
        (message, stop) =>
          slots.run(async () => (isLate(calledMs) ? LATER : deliverOne(message, stop)), stop),
        signal,
      )
    },
    async health(signal) {
      const reached = await http.check(endpoint.base, signal)
      const fault = reached.ok ? await sender.health(signal) : undefined
      return fault ? { ok: false, reason: fault.reason, detail: fault.detail } : reached
    },
    async close() {
      sender.close()
      await Promise.all([http.close(), tokenHttp.close()])
    },
  }
}

/** Some receivers echo requests. The secrets of Standard Webhooks are masked without their prefix, too. */
function secretsOf(config: WebhookConfig): string[] {
  const { headers, secret, auth } = config
  const values = [...Object.values(headers), ...Object.values(authorizationOf(auth))]
  const { clientSecret } = auth?.oauth2 ?? {}
  return [
    ...secretsOfHeaders(values),
    ...secret.flatMap((it) => [it, it.slice('whsec_'.length)]),
    ...(clientSecret === undefined ? [] : [clientSecret]),
    ...SECRET_OPTIONS.flatMap((name) => config[name] ?? []),
  ]
}
