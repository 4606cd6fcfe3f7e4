import {
  createHttpClient,
  createMask,
  createSlots,
  defineSink,
  deliverInOrder,
  type Message,
  type Outcome,
  type Reply,
  secretsOfHeaders,
  TemplateFault,
} from '../../src/sink/index.ts'
import { WebhookConfig } from './config.ts'
import { writeBatch, writerOf } from './formats.ts'
import { deliverInBatches } from './in-batches.ts'
import { PRESETS } from './presets/index.ts'
import { authorizationOf, createSender, envelopeOf } from './sender.ts'
import { shownUrl, urlOf } from './target.ts'

const DEFAULT_CONCURRENCY = 64
/** The default while answers take less than `QUICK_MS` on average: the receiver has capacity left. */
const QUICK_CONCURRENCY = 128
const QUICK_MS = 100
const PAGERDUTY_URL = new URL('https://events.pagerduty.com/v2/enqueue')
const DEFAULT_BATCH = { max: 100, maxBytes: 1_000_000 }

/** Posts every event: as a CloudEvent, as a template says, or as the service of a preset wants it; in order for each object. */
export default defineSink<WebhookConfig>({
  apiVersion: 1,
  type: 'webhook',
  config: WebhookConfig,
  markup: ({ preset }) => (preset ? PRESETS[preset].markup : {}),
  tellsChanges: ({ preset }) => preset !== undefined,
  batches: ({ format }) => format === 'batch',
  preview(message, config) {
    const { method, url = { base: PAGERDUTY_URL, template: undefined } } = config
    const mask = createMask(secretsOf(config))
    const { body } = writerOf(config)(message)
    return { target: `${method} ${shownUrl(url, message)}`, body: mask(body.toString()) }
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
    const slots = createSlots(() => fixed ?? (averageMs < QUICK_MS ? QUICK_CONCURRENCY : DEFAULT_CONCURRENCY))

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

/** Some receivers repeat what they got; Standard Webhooks' secrets may be known without their prefix. */
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
