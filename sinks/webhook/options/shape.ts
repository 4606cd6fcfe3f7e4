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
  url: EndpointUrl.optional().meta({
    description: 'Where to, with templates in path and query.',
    examples: ['https://audit.example.com/hook'],
  }),
  method: z
    .enum(['POST', 'PUT', 'PATCH'])
    .default('POST')
    .meta({ description: 'POST (default), PUT or PATCH.' }),
  secret: Secrets.meta({
    description: 'Signs requests (Standard Webhooks); a list while one is rotated.',
    examples: [`\${env:AUDIT_SECRET}`],
  }),
  headers: Headers.meta({ description: 'Headers beside the usual ones.', examples: [{ 'x-team': 'shop' }] }),
  auth: Auth.optional().meta({ description: 'How to sign in.', examples: [{ bearer: `\${file:token}` }] }),
  tls: tlsOptions().optional().meta({ description: 'Certificates, as PEM text.' }),
  /** `false` takes no notice of HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
  proxy: z
    .union([z.literal(false), HttpUrl], { error: 'must be false or the http:// or https:// URL of a proxy' })
    .optional()
    .meta({ description: "An http or https proxy; false for none; default: the environment's." }),
  timeout: Timeout.optional().meta({ description: 'Of the whole request, at most 50s; default: 20s.' }),
  /** The default of a preset is what its service takes. */
  concurrency: z.int().min(1).max(1_000).optional().meta({
    description:
      'Requests under way at the same time; default: 64, and 128 while they take less than 100 ms.',
  }),
  allowLinkLocal: z
    .boolean()
    .default(false)
    .meta({ description: 'true permits link-local and cloud metadata addresses.' }),
  repeatConflict: z.enum(['retry', 'delivered']).optional().meta({
    description:
      'What 409 means to an event that was tried before: delivered where the receiver refuses an id that it has; default: retry.',
  }),

  format: z
    .enum(['structured', 'binary', 'batch', 'template'])
    .optional()
    .meta({ description: 'structured (default), binary or batch CloudEvents, or template.' }),
  batch: z
    .strictObject({
      max: z.int().min(1).max(1_000).default(100).meta({ description: 'Events in a request.' }),
      maxBytes: z
        .int()
        .min(1_000)
        .max(100_000_000)
        .default(1_000_000)
        .meta({ description: 'Bytes of a request.' }),
    })
    .optional()
    .meta({ description: 'With format: batch.', examples: [{ max: 100, maxBytes: 1_000_000 }] }),
  body: templateTree()
    .optional()
    .meta({ description: 'A tree of templates that is sent as JSON.', examples: [{ text: '{{ title }}' }] }),
  raw: templateText().optional().meta({ description: 'A template that is sent as it is.' }),
  contentType: MediaType.optional().meta({ description: 'Of body or raw.' }),

  preset: z
    .enum(PRESET_NAMES)
    .optional()
    .meta({ description: 'teams, discord, pagerduty, mattermost, google-chat or alertmanager.' }),
  routingKey: Credential.optional().meta({ description: 'pagerduty: the key of the integration.' }),
  action: z
    .enum(['auto', 'trigger', 'acknowledge', 'resolve'])
    .optional()
    .meta({ description: 'pagerduty: auto (default), trigger, acknowledge or resolve.' }),
  resolveAfter: durationText({ least: '1m', most: '30d', example: '24h' })
    .optional()
    .meta({ description: 'alertmanager: how long an alert is firing; default: 24h.' }),
  labels: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is no label name'),
      z.string().min(1).meta({ description: 'A text.' }),
    )
    .optional()
    .meta({ description: 'alertmanager: labels of alerts.' }),
  username: z.string().min(1).max(80).optional().meta({ description: 'discord and mattermost: who posts.' }),
  iconUrl: HttpUrl.transform(({ href }) => href)
    .optional()
    .meta({ description: 'discord and mattermost: its picture.' }),
  channel: z.string().min(1).max(128).optional().meta({ description: 'mattermost: another channel.' }),
})

export type Options = z.output<typeof Options>
