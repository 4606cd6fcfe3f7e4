import * as z from 'zod'
import { durationText, templateText, templateTree, tlsOptions } from '../../src/sink/index.ts'
import { PRESET_NAMES, type PresetName } from './presets/index.ts'
import { Auth, Credential, EndpointUrl, Headers, HttpUrl, isGuarded, MediaType } from './request-options.ts'

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

/** Each option by itself. */
const Options = z.strictObject({
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

type Options = z.output<typeof Options>

type GivenOptions = Partial<Options>
type Issue = (path: readonly PropertyKey[], message: string) => void

/** Options that only some presets know. */
const OF_PRESETS: Readonly<Record<string, readonly PresetName[]>> = {
  routingKey: ['pagerduty'],
  action: ['pagerduty'],
  resolveAfter: ['alertmanager'],
  labels: ['alertmanager'],
  username: ['discord', 'mattermost'],
  iconUrl: ['discord', 'mattermost'],
  channel: ['mattermost'],
}

/** Checks combinations of valid options; invalid ones are undefined here. */
function checkTogether(options: GivenOptions, issue: Issue): void {
  checkAddresses(options, issue)
  checkAuthorization(options, issue)
  checkFormat(options, issue)
  checkPreset(options, issue)
}

function checkAddresses({ url, auth, allowLinkLocal, tls, proxy }: GivenOptions, issue: Issue): void {
  const message =
    'is a link-local or cloud metadata address, which gets nothing unless allowLinkLocal is true'
  const tokenUrl = auth?.oauth2?.tokenUrl
  if (allowLinkLocal === false) {
    if (isGuarded(url?.base)) issue(['url'], message)
    if (isGuarded(tokenUrl)) issue(['auth', 'oauth2', 'tokenUrl'], message)
    if (proxy && isGuarded(proxy)) issue(['proxy'], message)
  }
  const secure = [url?.base, tokenUrl].some((it) => it?.protocol === 'https:')
  if (tls && url && !secure) issue(['tls'], 'is for https only, and url is http')
}

function checkAuthorization({ url, headers = {}, auth }: GivenOptions, issue: Issue): void {
  const inUrl = url !== undefined && (url.base.username !== '' || url.base.password !== '')
  const rest = 'is sent for the user and password in url already; keep one of the two'
  const name = Object.keys(headers).find((it) => it.toLowerCase() === 'authorization')
  if (auth && inUrl)
    issue(['auth'], 'cannot be combined with a user and password in url; keep one of the two')
  if (name === undefined) return
  if (inUrl) issue(['headers', name], rest)
  if (auth) issue(['headers', name], 'cannot be combined with auth; keep one of the two')
}

function checkFormat(options: GivenOptions, issue: Issue): void {
  const { format, preset, batch, body, raw, contentType, url, repeatConflict } = options
  const templated = body !== undefined || raw !== undefined
  if (preset !== undefined) {
    for (const key of ['format', 'body', 'raw', 'contentType', 'batch', 'repeatConflict'] as const)
      if (options[key] !== undefined)
        issue([key], `cannot be combined with preset: ${preset}; keep one of the two`)
    return
  }
  if (body !== undefined && raw !== undefined)
    issue(['raw'], 'cannot be combined with body; keep one of the two')
  if (format === 'template' && !templated) issue(['format'], 'needs body: (a tree for JSON) or raw: (a text)')
  if (templated && format !== undefined && format !== 'template')
    issue(
      [body === undefined ? 'raw' : 'body'],
      `is not sent with format: ${format}; leave one of the two out`,
    )
  if (contentType !== undefined && !templated)
    issue(['contentType'], 'is for body and raw; other formats have their own')
  if (batch && format !== 'batch') issue(['batch'], 'needs format: batch')
  if (format === 'batch' && repeatConflict !== undefined)
    issue(['repeatConflict'], 'is about one event, but a batch that is sent again may hold others')
  if (format === 'batch' && url?.template)
    issue(['url'], 'has templates, but a batch is about several objects')
}

function checkPreset(options: GivenOptions, issue: Issue): void {
  const { preset, url } = options
  for (const [key, presets] of Object.entries(OF_PRESETS)) {
    if (options[key as keyof GivenOptions] === undefined || (preset && presets.includes(preset))) continue
    issue([key], `is only for ${presets.map((it) => `preset: ${it}`).join(' and ')}`)
  }
  if (preset === 'pagerduty' && options.routingKey === undefined)
    issue(['preset'], 'needs routingKey: the integration key of the service in PagerDuty')
  if (preset === 'alertmanager' && url && !url.template && !/\/api\/v2\/alerts$/.test(url.base.pathname))
    issue(['url'], 'must end in /api/v2/alerts, such as http://alertmanager:9093/api/v2/alerts')
}

/** Runs even if other options are invalid, so that one run reports everything. */
const Together = z.check<Options>(({ value, issues }) => {
  if (value.url === undefined && value.preset !== 'pagerduty')
    issues.push({ code: 'custom', path: ['url'], message: 'is missing', input: undefined })
  checkTogether(value, (path, message) =>
    issues.push({ code: 'custom', path: [...path], message, input: value }),
  )
})

export const WebhookConfig = Options.check(Together)
export type WebhookConfig = z.output<typeof WebhookConfig>
