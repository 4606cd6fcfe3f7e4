import * as z from 'zod'
import { durationText, templateText, templateTree, tlsOptions } from '../../src/sink/index.ts'
import { Batch } from './batch-options.ts'
import { PRESETS } from './presets/index.ts'
import type { PresetName } from './presets/names.ts'
import { ACTIONS, PRESET_OPTIONS, type PresetOption, SECRET_OPTIONS } from './presets/options.ts'
import type { Preset } from './presets/preset.ts'
import { Auth, EndpointUrl, Headers, HttpUrl, isGuarded, MediaType } from './request-options.ts'

/** `whsec_` and base64 of 24 to 64 bytes (Standard Webhooks 1.0.0). */
const Secret = z
  .string()
  .refine(
    isSecret,
    'must be "whsec_" and base64 of 24 to 64 bytes; this makes one: echo "whsec_$(openssl rand -base64 32)"',
  )

/** Secrets that sign every request. Receivers may accept any of several: that is how a secret is rotated. */
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

/** Options of the request, whatever it sends. */
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

type Options = z.output<typeof Options>

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

type GivenOptions = Partial<Options>
type Issue = (path: readonly PropertyKey[], message: string) => void

/** Checks combinations of valid options; invalid ones are undefined here. */
function checkTogether(options: GivenOptions, issue: Issue): void {
  const { url, preset } = options
  if (url === undefined && !(preset && PRESETS[preset].knowsUrl)) issue(['url'], 'is missing')
  checkAddresses(options, issue)
  checkAuthorization(options, issue)
  if (preset !== undefined) checkPreset(preset, options, issue)
  else checkFormat(options, issue)
  checkBatch(options, issue)
  checkOwners(options, issue)
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
  const { format, batch, body, raw, contentType, url, repeatConflict } = options
  const isTemplate = body !== undefined || raw !== undefined
  const key = body === undefined ? 'raw' : 'body'
  if (body !== undefined && raw !== undefined)
    issue(['raw'], 'cannot be combined with body; keep one of the two')
  if (format === 'template' && !isTemplate && !batch?.each)
    issue(['format'], 'needs body: (a tree for JSON) or raw: (a text)')
  if (isTemplate && format !== undefined && format !== 'template')
    issue([key], `is not sent with format: ${format}; leave one of the two out`)
  if (isTemplate && batch) issue([key], 'is one event a request: with batch write it as batch.each')
  if (contentType !== undefined && !isTemplate && !batch?.each)
    issue(['contentType'], 'is for body and raw; other formats have their own')
  if (batch && !batch.each && !isTemplate && format !== 'batch')
    issue(['batch'], 'needs each: (what one event becomes), or format: batch')
  if (batch?.each && format !== undefined && format !== 'template')
    issue(['batch', 'each'], `is not sent with format: ${format}; leave one of the two out`)
  const isBatch = format === 'batch' || batch !== undefined
  if (isBatch && repeatConflict !== undefined)
    issue(['repeatConflict'], 'is about one event, but a batch that is sent again may hold others')
  if (isBatch && url?.template) issue(['url'], 'has templates, but a batch is about several objects')
}

const JOINTS = ['separator', 'before', 'after'] as const

function checkBatch({ batch, preset, compression, secret = [] }: GivenOptions, issue: Issue): void {
  if (compression === 'gzip' && secret.length > 0)
    issue(
      ['compression'],
      'cannot be combined with secret: receivers differ in whether they verify what was compressed',
    )
  if (!batch) return
  if (batch.each && preset)
    issue(['batch', 'each'], 'is written by the preset; body: replaces what it writes')
  for (const key of JOINTS)
    if (batch[key] !== undefined && !batch.each)
      issue(['batch', key], 'is for batch.each; other formats have their own')
}

const OF_FORMATS = ['format', 'body', 'raw', 'contentType', 'batch', 'compression', 'repeatConflict'] as const
const OF_LOG_STORES: readonly string[] = ['body', 'batch', 'compression']

function checkPreset(preset: PresetName, options: GivenOptions, issue: Issue): void {
  const { url, auth, action } = options
  const { needs = [], batches } = PRESETS[preset]
  for (const key of OF_FORMATS)
    if (options[key] !== undefined && !(batches && OF_LOG_STORES.includes(key)))
      issue([key], `cannot be combined with preset: ${preset}; keep one of the two`)
  for (const key of needs) if (options[key] === undefined) issue([key], 'is missing')
  const credential = SECRET_OPTIONS.find((key) => options[key] !== undefined)
  if (auth && credential) issue(['auth'], `cannot be combined with ${credential}; keep one of the two`)
  if (batches && url?.template) issue(['url'], 'has templates, but a batch is about several objects')
  const actions: readonly string[] = ACTIONS[preset as keyof typeof ACTIONS] ?? []
  if (action !== undefined && actions.length > 0 && !actions.includes(action))
    issue(['action'], `must be one of ${actions.join(', ')}`)
  const { topic } = options
  if (preset === 'ntfy' && topic !== undefined && url?.base.pathname.replace(/\/$/, '').endsWith(`/${topic}`))
    issue(
      ['url'],
      'must be the server without the topic, such as https://ntfy.example.com: at the address of a topic, ntfy shows the JSON itself',
    )
  if (preset === 'alertmanager' && url && !url.template && !/\/api\/v2\/alerts$/.test(url.base.pathname))
    issue(['url'], 'must end in /api/v2/alerts, such as http://alertmanager:9093/api/v2/alerts')
}

/** Options that another preset has. */
function checkOwners(options: GivenOptions, issue: Issue): void {
  const own = options.preset ? (PRESETS[options.preset].options ?? []) : []
  for (const [key, presets] of owners()) {
    if (options[key] === undefined || own.includes(key)) continue
    issue([key], `is only for ${presets.map((it) => `preset: ${it}`).join(' and ')}`)
  }
}

function owners(): Map<PresetOption, string[]> {
  const all = new Map<PresetOption, string[]>()
  for (const [name, { options = [] }] of Object.entries(PRESETS))
    for (const option of options) all.set(option, [...(all.get(option) ?? []), name])
  return all
}
