import * as z from 'zod'
import { durationText } from '../../src/sink/index.ts'
import { AllowedChannel } from './channels.ts'

/** Returns what a token is that is not the wanted one, to begin an error message with; '' if it is not known. */
export function whatToken(text: string): string {
  if (text.startsWith('xapp-')) return 'is an app-level token; '
  if (text.startsWith('xoxp-')) return 'is the token of a user; '
  if (/^(xoxe\.)?xoxb-/.test(text)) return "is the app's Bot User OAuth Token; "
  return ''
}

const AppToken = z.string().refine((it) => /^xapp-[\w-]{8,}$/.test(it), {
  error: ({ input }) =>
    `${whatToken(String(input))}must be an app-level token with the scope connections:write, which begins with xapp-`,
})

const UserId = z
  .string()
  .regex(
    /^[UW][A-Z0-9]{7,20}$/,
    'must be the id of a user such as U0123456789 (profile → ⋮ → Copy member ID); names can be changed',
  )

const MAX_URL = 500

const HistoryUrl = z
  .string()
  .refine(isPlainUrl, 'must be an http:// or https:// URL without user, password, query and fragment')
  .refine((text) => text.length <= MAX_URL, `must have at most ${MAX_URL} characters`)
  .transform(withoutSlashes)

function withoutSlashes(text: string): string {
  return text.endsWith('/') ? withoutSlashes(text.slice(0, -1)) : text
}

function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password, search, hash } = new URL(text)
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((it) => it === '')
}

/** Buttons in messages. Slack reports clicks over Socket Mode, so nothing listens for requests from the internet. */
export const Actions = z
  .strictObject({
    appToken: AppToken.meta({
      description: 'An app-level token with the scope connections:write.',
      examples: [`\${env:SLACK_APP_TOKEN}`],
    }),
    users: z
      .array(UserId)
      .min(1, 'is empty, so nobody may use the buttons: name users, or write anyone: true')
      .max(1_000)
      .optional()
      .meta({ description: 'Ids of the users who may use the buttons.', examples: [['U0123456789']] }),
    anyone: z
      .literal(true, 'can only be true; name users instead to let some use the buttons')
      .optional()
      .meta({ description: 'Every member of the workspace who sees a message may use its buttons.' }),
    channels: z
      .array(AllowedChannel)
      .min(1, 'is empty, so no button works: name channels, or leave it out')
      .optional()
      .meta({
        description: 'Where buttons work; default: where the sink writes.',
        examples: [['#oncall']],
      }),
    silence: z
      .array(durationText({ least: '1m', most: '30d', example: '1h' }))
      .max(3)
      .default([3_600_000, 28_800_000])
      .meta({
        description: 'Durations of the silence buttons; default: 1h and 8h.',
        examples: [['1h', '8h']],
      }),
    historyUrl: HistoryUrl.optional().meta({
      description: "Where kubeherald's page is: adds a link to the object's history.",
      examples: ['https://kubeherald.example.com'],
    }),
  })
  .superRefine(({ users, anyone, silence }, context) => {
    const issue = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message })
    if (users === undefined && anyone === undefined)
      issue([], 'needs users: the ids of those who may use the buttons; or anyone: true')
    if (users !== undefined && anyone !== undefined)
      issue(['anyone'], 'cannot be combined with users; keep one of the two')
    if (new Set(silence).size < silence.length) issue(['silence'], 'has a duration twice')
  })
export type Actions = z.output<typeof Actions>
