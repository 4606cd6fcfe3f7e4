import * as z from 'zod'

import {
  durationText,
  isForbiddenHost,
  type Routed,
  type Template,
  templateText,
} from '../../src/sink/index.ts'
import { Actions, whatToken } from './action-options.ts'
import { AllowedChannel, CHANNEL_RULE, channelName, isAllowed, spelled } from './channels.ts'

const MODES = ['message', 'thread', 'update'] as const
export type Mode = (typeof MODES)[number]

const Mode = z.enum(MODES)

/** A channel, or a template of one. */
const ChannelTemplate = templateText().refine(
  (it) => !it.constant || channelName(it.source) !== undefined,
  CHANNEL_RULE,
)

const Channel = z.string().transform((text, context) => {
  const channel = channelName(text)
  if (channel === undefined) context.addIssue({ code: 'custom', message: CHANNEL_RULE })
  return channel ?? z.NEVER
})

const Token = z.string().refine((it) => /^(xoxe\.)?xoxb-[\w-]{8,}$/.test(it), {
  error: ({ input }) =>
    `${whatToken(String(input))}must be the app's Bot User OAuth Token, which begins with xoxb-`,
})

const HttpUrl = z
  .string()
  .refine(isHttpUrl, 'must be an http:// or https:// URL')
  .transform((text) => new URL(text))
  .refine((url) => !isForbiddenHost(url.hostname), 'is a link-local or cloud metadata address')

/** Requests to a URL with a user or password cannot be made, and the error would repeat both. */
const OpenUrl = HttpUrl.refine(
  ({ username, password }) => username === '' && password === '',
  'must have no user and password before the host: Slack takes none',
)

const WebhookUrl = OpenUrl.refine(
  (url) => url.hostname !== 'hooks.slack.com' || (url.protocol === 'https:' && url.pathname.length > 10),
  'must be the whole address that Slack gave: https://hooks.slack.com/services/…',
)

export const WEBHOOK_CHANNEL = 'a webhook writes into its own channel only; a token can choose one'
const WEBHOOK_ACTIONS =
  'a webhook has no buttons: Slack reports clicks only to an app with a token; use token in place of url'
export const WEBHOOK_MODE = 'a webhook can neither thread nor update; a token can'

const Rate = z.number().positive().max(50)

export const Options = z.strictObject({
  token: Token.optional().meta({
    description: 'The Bot User OAuth Token of the app.',
    examples: [`\${env:SLACK_TOKEN}`],
  }),
  /** It writes into one channel, and cannot thread. */
  url: WebhookUrl.optional().meta({ description: 'An incoming webhook instead of a token.' }),
  channel: ChannelTemplate.optional().meta({
    description: 'A channel, its id, or a template.',
    examples: ['#oncall'],
  }),
  allowChannels: z
    .array(AllowedChannel)
    .default([])
    .meta({ description: 'What a template may choose.', examples: [['#team-*']] }),
  fallbackChannel: Channel.optional().meta({
    description: 'Where that goes which a template may not choose.',
  }),
  mode: Mode.optional().meta({ description: 'thread (default), update, or message.' }),
  groupBy: templateText()
    .optional()
    .meta({
      description: 'What belongs to one thread: a template; default: the object.',
      examples: ['{{ namespace }}'],
    }),
  threadTtl: durationText({ least: '1m', most: '30d', example: '24h' })
    .default(86_400_000)
    .meta({ description: 'How long a thread is continued; default: 24h.', examples: ['24h'] }),
  digest: z
    .union([
      z.literal(false),
      z.strictObject({
        after: durationText({ least: '1s', most: '1h', example: '30s' })
          .default(30_000)
          .meta({ description: 'How long something waits before.' }),
        waiting: z.int().min(2).max(400).default(20).meta({ description: 'How much waits before.' }),
      }),
    ])
    .default({ after: 30_000, waiting: 20 })
    .meta({
      description: 'When much waits, one message for all of it; false for never.',
      examples: [{ after: '30s', waiting: 20 }],
    }),
  rate: z
    .union([
      Rate.transform((perSecond) => ({ perSecond, burst: 5 })),
      z.strictObject({
        perSecond: Rate.default(1).meta({ description: 'In the long run.' }),
        burst: z.int().min(1).max(50).default(5).meta({ description: 'Without a pause.' }),
      }),
    ])
    .default({ perSecond: 1, burst: 5 })
    .meta({ description: 'Messages a second to a channel.', examples: [1, { perSecond: 1, burst: 5 }] }),
  timeout: durationText({ least: '100ms', most: '20s', example: '15s' })
    .default(15_000)
    .meta({ description: 'Of a request, at most 20s; default: 15s.' }),
  proxy: HttpUrl.optional().meta({ description: 'An http proxy.' }),
  ca: z
    .string()
    .refine(
      (it) => it.includes('-----BEGIN CERTIFICATE-----'),
      `must be certificates in PEM, such as \${file:/etc/ssl/corporate-ca.pem}`,
    )
    .optional()
    .meta({ description: 'Certificates of authorities, as PEM text.' }),
  actions: Actions.optional().meta({
    description: 'Buttons in messages, over Socket Mode: acknowledge, silence, history.',
  }),
  apiUrl: OpenUrl.default(new URL('https://slack.com/api/')).meta({ description: 'Where the Web API is.' }),
})

export const SlackConfig = Options.superRefine((it, context) => {
  const issue = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message })
  if (it.token === undefined && it.url === undefined)
    issue([], 'needs a token (of a Slack app), or the url of an incoming webhook')
  if (it.token !== undefined && it.url !== undefined)
    issue(['url'], 'cannot be combined with token; keep one of the two')
  if (it.url !== undefined && it.token === undefined) {
    if (it.channel) issue(['channel'], WEBHOOK_CHANNEL)
    if (it.mode !== undefined && it.mode !== 'message') issue(['mode'], WEBHOOK_MODE)
    if (it.actions) issue(['actions'], WEBHOOK_ACTIONS)
  } else if (it.token !== undefined && !it.channel)
    issue([], 'needs a channel to write to, such as channel: "#alerts"')
  if (it.channel && !it.channel.constant && it.allowChannels.length === 0)
    issue(
      [],
      'needs allowChannels: the channels (or globs, "#team-*") that the template in channel may choose',
    )
}).transform(({ mode, ...rest }) => ({
  ...rest,
  mode: mode ?? (rest.url ? 'message' : 'thread'),
}))
export type SlackConfig = z.output<typeof SlackConfig>

const MENTION_RULE =
  'must be here, channel, the id of a user (U0123456789) or of a user group (S0123456789); names do not ping anybody'

/** Users, groups or everyone present, in mrkdwn; only the configuration can mention. */
const Mentions = z.union([z.string(), z.array(z.string()).max(10)]).transform((given, context) => {
  const texts = typeof given === 'string' ? [given] : given
  return texts.map((text, index) => {
    const mention = mentionOf(text)
    if (mention !== undefined) return mention
    const path = typeof given === 'string' ? [] : [index]
    context.addIssue({ code: 'custom', path, message: MENTION_RULE })
    return z.NEVER
  })
})

function mentionOf(text: string): string | undefined {
  const id = text.trim().replace(/^@/, '')
  if (id === 'here' || id === 'channel') return `<!${id}>`
  if (/^[UW][A-Z0-9]{7,20}$/.test(id)) return `<@${id}>`
  if (/^S[A-Z0-9]{7,20}$/.test(id)) return `<!subteam^${id}>`
  return undefined
}

export const SlackRoute = z.strictObject({
  channel: ChannelTemplate.optional().meta({
    description: 'Another channel for this rule.',
    examples: ['#shop'],
  }),
  mode: Mode.optional().meta({ description: 'Another mode for this rule.' }),
  groupBy: templateText().optional().meta({ description: 'What belongs to one thread, for this rule.' }),
  mention: Mentions.default([]).meta({
    description: 'Who is pinged: here, channel, a user, a group.',
    examples: ['here', 'U0123456789'],
  }),
})

/** Options of a rule; the sink's apply where they are absent. */
export interface SlackRoute {
  channel?: Template | undefined
  mode?: Mode | undefined
  groupBy?: Template | undefined
  /** In mrkdwn, ready to be sent. */
  mention?: string[] | undefined
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

/** The options that decide the channel of a message. */
interface ChannelOptions {
  channel?: Template | undefined
  allowChannels: readonly string[]
  fallbackChannel?: string | undefined
}

/** A channel's name or id as Slack takes it, or why there is none. */
type Target = { ok: true; channel: string } | { ok: false; detail: string }

/**
 * Returns the channel of a message. A channel that a template derives from an object must be in the list: a user
 * who may label a pod must not choose the readers. Throws a TemplateFault.
 */
export function targetOf(
  subject: Routed<{ channel?: Template | undefined }>,
  options: ChannelOptions,
): Target {
  const template = subject.route?.channel ?? options.channel
  if (!template) return { ok: false, detail: 'neither the sink nor the rule has a channel: set channel' }
  const text = template.render(subject)
  const channel = channelName(text)
  if (template.constant && channel !== undefined) return { ok: true, channel }
  if (channel !== undefined && isAllowed(channel, options.allowChannels)) return { ok: true, channel }
  if (options.fallbackChannel !== undefined) return { ok: true, channel: options.fallbackChannel }
  return { ok: false, detail: denied(text, channel, template, options.allowChannels) }
}

function denied(
  text: string,
  channel: string | undefined,
  template: Template,
  list: readonly string[],
): string {
  const shown = JSON.stringify(text.slice(0, 100))
  if (channel === undefined) return `channel ${template.source} gave ${shown}, which can be no channel's name`
  if (list.length === 0)
    return `channel ${template.source} gave ${shown}, but the sink has no allowChannels: list there what templates may choose`
  return `channel ${template.source} gave ${shown}, which is not in allowChannels (${list.map(spelled).join(', ')})`
}
