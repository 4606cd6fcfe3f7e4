import * as z from 'zod'
import { durationText, templateText, templateTree, tlsOptions } from '../../../src/sink/index.ts'
import { PRESET_NAMES } from '../presets/index.ts'
import { Auth } from './auth.ts'
import { Credential, Headers, MediaType } from './headers.ts'
import { Secrets } from './secret.ts'
import { EndpointUrl, HttpUrl } from './url.ts'

/** The core gives a batch up after 60 s: a request must have ended by then. */
const Timeout = durationText({
  least: '1ms',
  most: '50s',
  example: '20s',
  mostBecause: 'a batch of deliveries as a whole gets 60 s',
})

/** Each option by itself. */
export const Options = z.strictObject({
  /** Only `preset: pagerduty` knows one by itself. */
  url: EndpointUrl.optional(),
  method: z.enum(['POST', 'PUT', 'PATCH']).default('POST'),
  secret: Secrets,
  headers: Headers,
  auth: Auth.optional(),
  tls: tlsOptions().optional(),
  /** `false` takes no notice of HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
  proxy: z
    .union([z.literal(false), HttpUrl], { error: 'must be false or the http:// or https:// URL of a proxy' })
    .optional(),
  timeout: Timeout.optional(),
  /** Requests under way at once; the default is 64, or what the preset's service takes. */
  concurrency: z.int().min(1).max(1_000).optional(),
  allowLinkLocal: z.boolean().default(false),
  /** What 409 to a delivery means that was tried before. */
  repeatConflict: z.enum(['retry', 'delivered']).optional(),

  format: z.enum(['structured', 'binary', 'batch', 'template']).optional(),
  batch: z
    .strictObject({
      max: z.int().min(1).max(1_000).default(100),
      maxBytes: z.int().min(1_000).max(100_000_000).default(1_000_000),
    })
    .optional(),
  body: templateTree().optional(),
  raw: templateText().optional(),
  contentType: MediaType.optional(),

  preset: z.enum(PRESET_NAMES).optional(),
  routingKey: Credential.optional(),
  action: z.enum(['auto', 'trigger', 'acknowledge', 'resolve']).optional(),
  resolveAfter: durationText({ least: '1m', most: '30d', example: '24h' }).optional(),
  labels: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is no label name'), z.string().min(1))
    .optional(),
  username: z.string().min(1).max(80).optional(),
  iconUrl: HttpUrl.transform(({ href }) => href).optional(),
  channel: z.string().min(1).max(128).optional(),
})

export type Options = z.output<typeof Options>
