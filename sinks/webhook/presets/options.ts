import * as z from 'zod'
import { durationText, type Template, templateText } from '../../../src/sink/index.ts'
import { Credential, HttpUrl } from '../request-options.ts'

/** Sent as credentials; never shown. */
export const SECRET_OPTIONS = ['routingKey', 'apiKey', 'token', 'signingSecret'] as const

/** What a sink does to an alert: `auto` opens and closes, the others do one thing only. */
export const ACTIONS = {
  pagerduty: ['auto', 'trigger', 'acknowledge', 'resolve'],
  opsgenie: ['auto', 'open', 'note', 'acknowledge', 'close'],
} as const

const ACTION_NAMES = [...new Set(Object.values(ACTIONS).flat())]

/** Options that only some presets have. Each entry of a preset lists its own. */
export const PRESET_OPTIONS = {
  routingKey: Credential.optional().meta({ description: 'The key of the integration.' }),
  apiKey: Credential.optional().meta({ description: 'The API key of the integration or organization.' }),
  token: Credential.optional().meta({ description: 'The token that the service issued.' }),
  signingSecret: Credential.optional().meta({
    description: 'The secret of the bot, where its security settings require signatures.',
  }),
  action: z
    .enum(ACTION_NAMES)
    .optional()
    .meta({ description: 'auto (default) opens and closes alerts; the others do only that.' }),
  resolveAfter: durationText({ least: '1m', most: '30d', example: '24h' })
    .optional()
    .meta({ description: 'How long an alert is firing; default: 24h.' }),
  labels: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not a label name'),
      z
        .string()
        .min(1)
        .refine((text) => !/\{[{%]/.test(text), 'is a fixed text: a template would be sent unchanged')
        .meta({ description: 'A text.' }),
    )
    .optional()
    .meta({ description: 'Labels that are added to each alert or stream.' }),
  username: z.string().min(1).max(80).optional().meta({ description: 'Who posts.' }),
  iconUrl: HttpUrl.transform(({ href }) => href)
    .optional()
    .meta({ description: 'The picture of who posts.' }),
  channel: z.string().min(1).max(128).optional().meta({ description: "Another channel than the webhook's." }),
  index: templateText({ maxLength: 1_000 })
    .optional()
    .meta({
      description: 'The index or data stream; a template for elasticsearch.',
      examples: ['kubernetes-{{ time | date: "%Y.%m" }}'],
    }),
  site: z
    .string()
    .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/, 'must be a site of Datadog, such as datadoghq.eu')
    .optional()
    .meta({ description: 'The site of Datadog; default: datadoghq.com.', examples: ['datadoghq.eu'] }),
  chatId: z
    .union([z.int(), z.string()])
    .transform(String)
    .refine((it) => /^(-?\d+|@\w+)$/.test(it), 'must be the number of a chat, or the "@name" of a channel')
    .optional()
    .meta({ description: 'The chat: its number, or the @name of a channel.', examples: ['-1001234567890'] }),
  topicId: z.int().min(1).optional().meta({ description: 'The topic of a forum.' }),
  topic: z
    .string()
    .regex(/^[-_A-Za-z0-9]{1,64}$/, 'must be 1 to 64 letters, digits, "-" and "_"')
    .optional()
    .meta({ description: 'The topic.', examples: ['kubernetes'] }),
  room: z
    .string()
    .regex(/^[!][^\s]{1,254}$/, 'must be the id of a room, such as "!abc:example.com"; an alias (#…) is none')
    .optional()
    .meta({ description: 'The id of the room.', examples: ['!abc:example.com'] }),
  ratePerMinute: z
    .int()
    .min(5)
    .max(100_000)
    .optional()
    .meta({ description: 'Messages in any minute, of all processes together.' }),
} as const

export type PresetOption = keyof typeof PRESET_OPTIONS

/** Options of a preset as its code gets them; `config.ts` checks that none is missing. */
export interface PresetOptions {
  routingKey?: string | undefined
  apiKey?: string | undefined
  token?: string | undefined
  signingSecret?: string | undefined
  action?: (typeof ACTION_NAMES)[number] | undefined
  resolveAfterMs?: number | undefined
  labels?: Readonly<Record<string, string>> | undefined
  username?: string | undefined
  iconUrl?: string | undefined
  channel?: string | undefined
  index?: Template | undefined
  site?: string | undefined
  chatId?: string | undefined
  topicId?: number | undefined
  topic?: string | undefined
  room?: string | undefined
}
