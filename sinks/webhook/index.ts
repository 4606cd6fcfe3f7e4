import {
  createHttpClient,
  createSlots,
  defineSink,
  deliverInOrder,
  secretsOfHeaders,
} from '../../src/sink/index.ts'
import { WebhookConfig } from './config.ts'
import { signatureHeaders } from './signature.ts'

/** Posts every event as a CloudEvent, signed, in order for each object. */
export default defineSink<WebhookConfig>({
  apiVersion: 1,
  type: 'webhook',
  config: WebhookConfig,
  open({ url, secret, headers, timeout, concurrency, allowLinkLocal }, { clock, userAgent }) {
    const http = createHttpClient({
      connections: concurrency,
      timeoutMs: timeout,
      allowLinkLocal,
      // Some receivers repeat what they got; Standard Webhooks' secrets may be known without their prefix.
      secrets: [...secretsOfHeaders(Object.values(headers)), ...secret, ...secret.map((it) => it.slice(6))],
    })
    // Shared by all lanes: a request's time begins when it is sent, not when it waits for others.
    const slots = createSlots(concurrency)
    const common = {
      ...headers,
      'content-type': 'application/cloudevents+json; charset=utf-8',
      'user-agent': userAgent,
    }
    return {
      deliver: (batch, signal) =>
        deliverInOrder(
          batch,
          { concurrency },
          (message, stop) =>
            slots.run(() => {
              const body = message.cloudEvent
              const signed = signatureHeaders(secret, message.id, body, clock.now())
              return http.post(url, { ...common, ...signed }, body, stop)
            }, stop),
          signal,
        ),
      close: () => http.close(),
    }
  },
})
