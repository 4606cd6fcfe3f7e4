import * as z from 'zod'
import { templateText } from '../../src/sink/index.ts'
import { checkTogether, missingKeys } from './options/together.ts'
import { Auth } from './options/auth.ts'
import { BodyTree } from './options/body.ts'
import { LongDuration, Timeout } from './options/duration.ts'
import { Credential, Headers, MediaType } from './options/headers.ts'
import { Secrets } from './options/secret.ts'
import { Tls } from './options/tls.ts'
import { EndpointUrl, HttpUrl } from './options/url.ts'
import { PRESET_NAMES } from './presets/index.ts'

const Options = z.strictObject({
  /** Only `preset: pagerduty` knows one by itself. */
  url: EndpointUrl.optional(),
  method: z.enum(['POST', 'PUT', 'PATCH']).default('POST'),
  secret: Secrets,
  headers: Headers,
  auth: Auth.optional(),
  tls: Tls.optional(),
  /** `false` takes no notice of HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
  proxy: z.union([z.literal(false), HttpUrl], { error: 'must be false or the http:// or https:// URL of a proxy' }).optional(),
  timeout: Timeout.optional(),
  /** Requests under way at once; the default is 64, or what the preset's service takes. */
  concurrency: z.int().min(1).max(1_000).optional(),
  allowLinkLocal: z.boolean().default(false),

  format: z.enum(['structured', 'binary', 'batch', 'template']).optional(),
  batch: z
    .strictObject({
      max: z.int().min(1).max(1_000).default(100),
      maxBytes: z.int().min(1_000).max(100_000_000).default(1_000_000),
    })
    .optional(),
  body: BodyTree.optional(),
  raw: templateText().optional(),
  contentType: MediaType.optional(),

  preset: z.enum(PRESET_NAMES).optional(),
  routingKey: Credential.optional(),
  action: z.enum(['auto', 'trigger', 'acknowledge', 'resolve']).optional(),
  resolveAfter: LongDuration.optional(),
  labels: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is no label name'), z.string().min(1))
    .optional(),
  username: z.string().min(1).max(80).optional(),
  iconUrl: HttpUrl.transform(({ href }) => href).optional(),
  channel: z.string().min(1).max(128).optional(),
})

/** What is missing is told even when other options are wrong: nothing is left for a second round. */
export const WebhookConfig = Options.check(missingKeys).superRefine(checkTogether)
export type WebhookConfig = z.output<typeof WebhookConfig>
