import * as z from 'zod'
import { durationText, templateText, templateTree, tlsOptions } from '../../src/sink/index.ts'
import { Batch } from './batch-options.ts'
import { checkTogether } from './config-checks.ts'
import { PRESETS } from './presets/index.ts'
import type { PresetName } from './presets/names.ts'
import { PRESET_OPTIONS, type PresetOption } from './presets/options.ts'
import type { Preset } from './presets/preset.ts'
import { Auth, EndpointUrl, Headers, HttpUrl, MediaType } from './request-options.ts'

/** `whsec_` and base64 of 24 to 64 bytes (Standard Webhooks 1.0.0). */
const Secret = z
  .string()
  .refine(
    isSecret,
    'must be "whsec_" and base64 of 24 to 64 bytes; this makes one: echo "whsec_$(openssl rand -base64 32)"',
  )

/** Signs every request. Of several, receivers may accept any: that is how a secret is rotated. */
const Secrets = z
  .union([Secret.transform((it) => [it]), z.array(Secret).min(1)])
  .optional()
  .transform((it) => it ?? [])

function isSecret(text: string): boolean {
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1]
  const { length } = Buffer.from(base64 ?? '', 'base64')
  return length >= 24 && length <= 64
}

/** The core aborts a batch after 60 s: a request must end before. */
const Timeout = durationText({
  least: '1ms',
  most: '50s',
  example: '20s',
  mostBecause: 'a batch of deliveries as a whole gets 60 s',
})

/** Of the request, whatever it sends. */
const REQUEST = {
  /** Optional, because some presets know the address of their service. */
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
  headers: Headers.meta({ description: 'Additional headers.', examples: [{ 'x-team': 'shop' }] }),
  auth: Auth.optional().meta({ description: 'How to sign in.', examples: [{ bearer: `\${file:token}` }] }),
  tls: tlsOptions().optional().meta({ description: 'Certificates, as PEM text.' }),
  /** `false` takes no notice of HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
  proxy: z
    .union([z.literal(false), HttpUrl], { error: 'must be false or the http:// or https:// URL of a proxy' })
    .optional()
    .meta({ description: "An http or https proxy; false for none; default: the environment's." }),
  timeout: Timeout.optional().meta({ description: 'Of the whole request, at most 50s; default: 20s.' }),
  /** The default of a preset is the limit of its service. */
  concurrency: z.int().min(1).max(1_000).optional().meta({
    description:
      'Requests under way at the same time; default: 64, and 128 while they take less than 100 ms.',
  }),
  allowLinkLocal: z
    .boolean()
    .default(false)
    .meta({ description: 'true permits link-local and cloud metadata addresses.' }),
} as const

/** What is sent. */
const FORMAT = {
  repeatConflict: z.enum(['retry', 'delivered']).optional().meta({
    description:
      'What 409 means to an event that was tried before: delivered where the receiver refuses an id that it has; default: retry.',
  }),

  format: z
    .enum(['structured', 'binary', 'batch', 'template'])
    .optional()
    .meta({ description: 'structured (default), binary or batch CloudEvents, or template.' }),
  batch: Batch.optional().meta({
    description: 'Many events in one request.',
    examples: [{ max: 100, maxBytes: 1_000_000 }],
  }),
  compression: z.enum(['gzip', 'none']).optional().meta({ description: 'Of requests; default: none.' }),
  body: templateTree()
    .optional()
    .meta({ description: 'A tree of templates that is sent as JSON.', examples: [{ text: '{{ title }}' }] }),
  raw: templateText().optional().meta({ description: 'A template that is sent as it is.' }),
  contentType: MediaType.optional().meta({ description: 'Of body or raw.' }),
} as const

const Options = z.strictObject({
  ...REQUEST,
  ...FORMAT,
  preset: z
    .enum(Object.keys(PRESETS) as PresetName[])
    .optional()
    .meta({ description: 'The service that it sends to: type: loki is type: webhook with preset: loki.' }),
  ...PRESET_OPTIONS,
})

export type Options = z.output<typeof Options>

/** Runs even if other options are invalid, so that one run reports everything. */
const together = (preset?: PresetName) =>
  z.check<Partial<Options>>(({ value, issues }) =>
    checkTogether(preset ? { ...value, preset } : value, (path, message) =>
      issues.push({ code: 'custom', path: [...path], message, input: value }),
    ),
  )

export const WebhookConfig = Options.check(together())

/** The options with the code of their preset, which is loaded for them alone. */
export interface WebhookConfig extends Options {
  service: Preset | undefined
}

async function withService(options: Options): Promise<WebhookConfig> {
  return { ...options, service: options.preset && (await PRESETS[options.preset].load()) }
}

/** The options of `type: webhook`. */
export const configured = WebhookConfig.transform(withService)

/** The options of a type that is a preset's: those of requests, and its own. */
export function configuredFor(preset: PresetName) {
  const { options = [], batches } = PRESETS[preset]
  const { batch, compression, body } = FORMAT
  const shape: Partial<typeof PRESET_OPTIONS> = Object.fromEntries(
    options.map((name: PresetOption) => [name, PRESET_OPTIONS[name]]),
  )
  return z
    .strictObject({ ...REQUEST, ...(batches && { batch, compression, body }), ...shape })
    .check(together(preset) as never)
    .transform((given) => withService({ ...(given as Options), preset }))
}
