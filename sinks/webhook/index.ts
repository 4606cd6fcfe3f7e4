import {
  createHttpClient,
  createMask,
  createSemaphore,
  defineSink,
  deliverInOrder,
  type Message,
  type Outcome,
  orderOf,
  type Reply,
  secretsOfHeaders,
  shownPath,
  TemplateFault,
} from '../../src/sink/index.ts'
import { authorizationOf, createSender, envelopeOf, shownUrl, urlOf } from './client.ts'
import { WebhookConfig } from './config.ts'
import { writeBatch, writerOf } from './format.ts'
import { PRESETS } from './presets/index.ts'

const DEFAULT_CONCURRENCY = 64
/** The default while answers take less than `QUICK_MS` on average: the receiver has capacity left. */
const QUICK_CONCURRENCY = 128
const QUICK_MS = 100
const PAGERDUTY_URL = new URL('https://events.pagerduty.com/v2/enqueue')
const DEFAULT_BATCH = { max: 100, maxBytes: 1_000_000 }

/**
 * Posts every event: as a CloudEvent, by a template, or in the format of a preset's service; in order for each
 * object.
 */
export default defineSink<WebhookConfig>({
  apiVersion: 1,
  type: 'webhook',
  config: WebhookConfig,
  markup: ({ preset }) => (preset ? PRESETS[preset].markup : {}),
  showsChanges: ({ preset }) => preset !== undefined,
  batches: ({ format }) => format === 'batch',
  example: `{ type: webhook, url: "\${env:WEBHOOK_URL}", secret: "\${env:WEBHOOK_SECRET}" }`,
  placeholders: { secret: `whsec_${Buffer.alloc(32).toString('base64')}` },
  preview(message, config) {
    const { method, url = { base: PAGERDUTY_URL, template: undefined } } = config
    const mask = createMask(secretsOf(config))
    const { body } = writerOf(config)(message)
    return {
      target: `${method} ${shownUrl(url, message)}`,
      // Chat services have a secret in the path.
      ...(!config.preset && !url.template && { path: shownPath(url.base) }),
      body: mask(body.toString()),
    }
  },
  open(config, { clock, userAgent }) {
    const preset = config.preset && PRESETS[config.preset]
    const fixed = config.concurrency ?? preset?.concurrency
    const concurrency = fixed ?? QUICK_CONCURRENCY
    let averageMs = Number.POSITIVE_INFINITY
    const endpoint = config.url ?? { base: PAGERDUTY_URL, template: undefined }
    const http = createHttpClient({
      connections: concurrency,
      timeoutMs: config.timeout,
      allowLinkLocal: config.allowLinkLocal,
      tls: config.tls,
      proxy: config.proxy,
      secrets: secretsOf(config),
    })
    const sender = createSender(config, http, userAgent, clock)
    const target = urlOf(endpoint)
    const write = writerOf(config)
    // Shared by all lanes: a request's time begins when it is sent, not when it waits for others.
    const slots = createSemaphore(
      () => fixed ?? (averageMs < QUICK_MS ? QUICK_CONCURRENCY : DEFAULT_CONCURRENCY),
    )

    async function request(...args: Parameters<typeof sender.send>): Promise<Reply> {
      const startedMs = performance.now()
      const reply = await sender.send(...args)
      const tookMs = performance.now() - startedMs
      // A refusal may be quick because the receiver is overloaded.
      if (reply.outcome.kind !== 'delivered') averageMs = Number.POSITIVE_INFINITY
      else averageMs = Number.isFinite(averageMs) ? averageMs + (tookMs - averageMs) / 16 : tookMs
      return reply
    }

    async function deliverOne(message: Message, signal: AbortSignal): Promise<Outcome> {
      try {
        const written = write(message)
        const { outcome, status, body } = await request(target(message), message, written, signal)
        if (outcome.kind === 'delivered' && written.note) return { kind: 'delivered', note: written.note }
        if (status === 409 && message.attempt > 0 && config.repeatConflict === 'delivered')
          return { kind: 'delivered' }
        const afterMs = status === 429 ? preset?.retryAfterMs?.(body) : undefined
        return outcome.kind === 'retry' && afterMs !== undefined ? { ...outcome, afterMs } : outcome
      } catch (error) {
        if (error instanceof TemplateFault)
          return { kind: 'rejected', reason: 'render', detail: error.message }
        throw error
      }
    }

    return {
      deliver(batch, signal) {
        if (config.format !== 'batch')
          return deliverInOrder(
            batch,
            { concurrency },
            (message, stop) => slots.run(() => deliverOne(message, stop), stop),
            signal,
          )
        const send = (messages: readonly Message[]) =>
          slots.run(() => request(endpoint.base, envelopeOf(messages), writeBatch(messages), signal), signal)
        return deliverInBatches(batch, config.batch ?? DEFAULT_BATCH, send, signal)
      },
      async health(signal) {
        const reached = await http.check(endpoint.base, signal)
        const fault = reached.ok ? await sender.health(signal) : undefined
        return fault ? { ok: false, reason: fault.reason, detail: fault.detail } : reached
      },
      async close() {
        sender.close()
        await http.close()
      },
    }
  },
})

/** Some receivers echo requests. The secrets of Standard Webhooks are masked without their prefix, too. */
function secretsOf({ headers, secret, auth, routingKey }: WebhookConfig): string[] {
  const values = [...Object.values(headers), ...Object.values(authorizationOf(auth))]
  const { clientSecret } = auth?.oauth2 ?? {}
  return [
    ...secretsOfHeaders(values),
    ...secret.flatMap((it) => [it, it.slice('whsec_'.length)]),
    ...(clientSecret === undefined ? [] : [clientSecret]),
    ...(routingKey === undefined ? [] : [routingKey]),
  ]
}

interface BatchLimits {
  max: number
  maxBytes: number
}

interface BatchReply {
  outcome: Outcome
  status: number
}

/** Answers that may be the fault of one event among many, or of their number. */
const DIVISIBLE = [400, 413, 422]

/**
 * Delivers messages in requests of many, in order. One response counts for the whole request. A request that is
 * refused for its size or content is halved, until the refused event is alone. Events of a failed object do not
 * overtake it.
 */
async function deliverInBatches(
  messages: readonly Message[],
  limits: BatchLimits,
  send: (messages: readonly Message[]) => Promise<BatchReply>,
  signal: AbortSignal,
): Promise<Outcome[]> {
  const outcomes = new Map<Message, Outcome>()
  const held = new Map<string, Outcome>()
  let stopped: Outcome | undefined

  async function deliver(group: readonly Message[]): Promise<void> {
    if (signal.aborted) stopped ??= STOPPED
    const free = group.filter((it) => {
      const outcome = stopped ?? held.get(orderOf(it))
      if (outcome) outcomes.set(it, outcome)
      return outcome === undefined
    })
    if (free.length === 0) return
    const { outcome, status } = await attempt(free)
    if (free.length > 1 && outcome.kind === 'rejected' && DIVISIBLE.includes(status)) {
      const middle = free.length >> 1
      await deliver(free.slice(0, middle))
      return deliver(free.slice(middle))
    }
    for (const it of free) {
      outcomes.set(it, outcome)
      if (outcome.kind === 'retry' || outcome.kind === 'later') held.set(orderOf(it), outcome)
    }
    if (outcome.kind === 'retry' && outcome.scope === 'sink') stopped ??= outcome
  }

  /** An exception, such as an abort before the semaphore is free, must not affect outcomes of earlier requests. */
  async function attempt(free: readonly Message[]): Promise<BatchReply> {
    try {
      return await send(free)
    } catch (error) {
      if (signal.aborted) return { outcome: STOPPED, status: 0 }
      const detail = String((error as Error)?.message ?? error)
      return { outcome: { kind: 'retry', reason: 'unknown', detail, scope: 'event' }, status: 0 }
    }
  }

  for (const group of groups(messages, limits)) await deliver(group)
  return messages.map((it) => outcomes.get(it) as Outcome)
}

function groups(messages: readonly Message[], { max, maxBytes }: BatchLimits): Message[][] {
  const all: Message[][] = []
  let bytes = 0
  for (const message of messages) {
    const { length } = message.cloudEvent
    const last = all.at(-1)
    if (last && last.length < max && bytes + length <= maxBytes) last.push(message)
    else {
      all.push([message])
      bytes = 0
    }
    bytes += length
  }
  return all
}

const STOPPED: Outcome = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'stopped before it was sent',
  scope: 'sink',
}
