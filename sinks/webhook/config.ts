import * as z from 'zod'
import { isForbiddenHost } from '../../src/sink/index.ts'

const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'proxy-connection',
]
const OURS = [
  'host',
  'content-length',
  'content-type',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
]

const HeaderName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'is no header name')
  .refine((name) => ![...HOP_BY_HOP, ...OURS].includes(name.toLowerCase()), 'is set by kubeherald itself')

/** `whsec_` and base64 of 24 to 64 bytes, as Standard Webhooks 1.0.0 wants. */
const Secret = z
  .string()
  .refine(
    isSecret,
    'must be "whsec_" and base64 of 24 to 64 bytes; this makes one: echo "whsec_$(openssl rand -base64 32)"',
  )

/** The core gives a batch up after 60 s: a request must have ended by then. */
const MAX_TIMEOUT_MS = 50_000

/** `500ms`, `20s`. */
const Timeout = z
  .string({ error: ({ input }) => durationRule(input) })
  .regex(/^\d{1,9}(ms|s|m)$/, { error: ({ input }) => durationRule(input) })
  .transform(milliseconds)
  .refine((ms) => ms > 0, 'must be longer than 0')
  .refine((ms) => ms <= MAX_TIMEOUT_MS, 'must be at most 50s: a batch of deliveries as a whole gets 60 s')

const Options = z.strictObject({
  url: z
    .string()
    .refine(isHttpUrl, { error: ({ input }) => urlRule(String(input)) })
    .transform((url) => new URL(url)),
  /** Signs every request. Of several, receivers may accept any: that is how a secret is rotated. */
  secret: z
    .union([Secret.transform((it) => [it]), z.array(Secret).min(1)])
    .optional()
    .transform((it) => it ?? []),
  headers: z
    .record(HeaderName, z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be one line of text'))
    .default({}),
  timeout: Timeout.optional(),
  /** Requests under way at once. */
  concurrency: z.int().min(1).max(1_000).default(64),
  allowLinkLocal: z.boolean().default(false),
})

/** Asked even when other options are wrong: nothing is left for a second round. */
const Permitted = Options.refine(
  ({ url, allowLinkLocal }) => allowLinkLocal || !isForbiddenHost(url.hostname),
  {
    path: ['url'],
    message: 'is a link-local or cloud metadata address, which gets nothing unless allowLinkLocal is true',
    when: ({ value }) => {
      const { url, allowLinkLocal } = value as Record<string, unknown>
      return url instanceof URL && typeof allowLinkLocal === 'boolean'
    },
  },
)

export const WebhookConfig = Permitted.superRefine(({ url, headers }, context) => {
  if (!url.username && !url.password) return
  for (const name of Object.keys(headers)) {
    if (name.toLowerCase() !== 'authorization') continue
    const message = 'is sent for the user and password in url already; keep one of the two'
    context.addIssue({ code: 'custom', path: ['headers', name], message })
  }
})
export type WebhookConfig = z.output<typeof WebhookConfig>

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

/** With what is missing, where that is sure to be no password. */
function urlRule(text: string): string {
  const isHost = /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:\d{1,5})?(\/[A-Za-z0-9._~/-]*)?$/.test(text)
  return `must be an http:// or https:// URL${isHost ? `, such as https://${text}` : ''}`
}

function isSecret(text: string): boolean {
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1]
  const { length } = Buffer.from(base64 ?? '', 'base64')
  return length >= 24 && length <= 64
}

function durationRule(input: unknown): string {
  const bare = /^\d{1,9}$/.exec(String(input))?.[0]
  const fitting = ['s', 'ms']
    .map((unit) => `${bare}${unit}`)
    .filter((it) => milliseconds(it) > 0 && milliseconds(it) <= MAX_TIMEOUT_MS)
  return fitting.length > 0
    ? `needs a unit: ${fitting.join(' or ')}`
    : 'must be a duration of at most 50s, such as 500ms or 20s'
}

function milliseconds(text: string): number {
  const unit = text.endsWith('ms') ? 1 : text.endsWith('s') ? 1_000 : 60_000
  return Number.parseInt(text, 10) * unit
}
