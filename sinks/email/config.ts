import { isIP } from 'node:net'
import * as z from 'zod'
import {
  durationText,
  isForbiddenHost,
  type Routed,
  type SchemaIssue,
  type Template,
  type TlsOptions,
  templateText,
  tlsOptions,
} from '../../src/sink/index.ts'
import { addressIn, isAllowed, isAllowedPattern, type Mailbox, mailboxIn } from './addresses.ts'

const TLS_MODES = ['starttls', 'implicit', 'none'] as const
export type TlsMode = (typeof TLS_MODES)[number]

/** RFC 8314, RFC 6409, RFC 5321 */
const PORTS: Readonly<Record<TlsMode, number>> = { starttls: 587, implicit: 465, none: 25 }

const ADDRESS_RULE = 'must be an address such as oncall@example.com or "On-call <oncall@example.com>"'

const MailboxText = z.string().transform((text, context): Mailbox => {
  const mailbox = mailboxIn(text)
  if (mailbox) return mailbox
  context.addIssue({ code: 'custom', message: ADDRESS_RULE })
  return z.NEVER
})

/** A recipient, or a template of one. */
const Recipient = templateText().superRefine((template, context) => {
  if (template.constant && mailboxIn(template.source) === undefined)
    context.addIssue({ code: 'custom', message: ADDRESS_RULE })
})

const MAX_RECIPIENTS = 50
const Recipients = z.union([Recipient.transform((it) => [it]), z.array(Recipient).min(1).max(MAX_RECIPIENTS)])

const Mode = z.enum(['thread', 'message'])

const Tls = z.union(
  [
    z.enum(TLS_MODES).transform((mode): { mode: TlsMode } & TlsOptions => ({ mode })),
    tlsOptions('/etc/smtp').safeExtend({
      mode: z
        .enum(TLS_MODES)
        .default('starttls')
        .meta({ description: 'starttls (default), implicit or none.' }),
    }),
  ],
  {
    error: ({ input }) =>
      typeof input === 'object' && input !== null
        ? undefined
        : `must be one of ${TLS_MODES.join(', ')}, or a map with mode, ca, cert, key, servername`,
  },
)

const Host = z
  .string()
  .regex(
    /^[\p{L}\p{N}._:-]+$/u,
    'must be the name or address of a mail server, such as smtp.example.com; the port is an option of its own',
  )
  .refine((host) => !host.includes(':') || isIP(host) === 6, 'must be without a port: write it as port')
  .refine((host) => !isForbiddenHost(host), 'is a link-local or cloud metadata address')

/** One line; it goes into a base64 text, so that other characters do not matter. */
const Credential = z
  .string()
  .min(1)
  .regex(/^[^\r\n\0]+$/, 'must be one line')

const Options = z.strictObject({
  host: Host.meta({ description: 'The mail server.', examples: ['smtp.example.com'] }),
  port: z
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .meta({ description: 'Its port; default: 587 with starttls, 465 with implicit, 25 with none.' }),
  tls: Tls.default({ mode: 'starttls' }).meta({
    description: 'starttls (default), implicit, none, or a map with mode and certificates.',
    examples: ['starttls', 'implicit'],
  }),
  auth: z
    .strictObject({
      user: Credential.meta({ description: 'The user.' }),
      password: Credential.meta({
        description: 'The password, or an app password.',
        examples: [`\${env:SMTP_PASSWORD}`],
      }),
    })
    .optional()
    .meta({ description: 'How to sign in; without it nobody does.' }),
  from: MailboxText.meta({ description: 'The sender.', examples: ['kubeherald <kubeherald@example.com>'] }),
  to: Recipients.optional().meta({
    description: 'The recipients: addresses or templates.',
    examples: [['oncall@example.com']],
  }),
  cc: Recipients.optional().meta({ description: 'More of them, as copies.' }),
  replyTo: MailboxText.optional().meta({ description: 'Where answers go; default: the sender.' }),
  allowTo: z
    .array(z.string().refine(isAllowedPattern, 'must be an address, or a pattern such as "*@example.com"'))
    .default([])
    .meta({ description: 'The addresses that a template may give.', examples: [['*@example.com']] }),
  fallbackTo: MailboxText.optional().meta({
    description: 'Where mail goes that a template may not send elsewhere.',
  }),
  subject: templateText()
    .optional()
    .meta({
      description: 'A template; default: the cluster and the title.',
      examples: ['[{{ cluster }}] {{ title }}'],
    }),
  mode: Mode.default('thread').meta({ description: 'thread (default) or message.' }),
  groupBy: templateText()
    .optional()
    .meta({
      description: 'The group of a thread: a template; default: the object.',
      examples: ['{{ namespace }}'],
    }),
  threadTtl: durationText({ least: '1m', most: '30d', example: '24h' })
    .default(86_400_000)
    .meta({ description: 'How long a thread is continued; default: 24h.', examples: ['24h'] }),
  concurrency: z
    .int()
    .min(1)
    .max(20)
    .default(3)
    .meta({ description: 'Connections at the same time; default: 3.' }),
  timeout: durationText({ least: '100ms', most: '25s', example: '20s' })
    .default(20_000)
    .meta({ description: 'Of a message, and of a connection; at most 25s; default: 20s.' }),
})

export const EmailConfig = Options.superRefine((it, context) => {
  const issue = (path: (string | number)[], message: string) =>
    context.addIssue({ code: 'custom', path, message })
  const { mode, ...certificates } = it.tls
  if (mode === 'none') {
    if (Object.values(certificates).some((value) => value !== undefined))
      issue(['tls'], 'has certificates, but mode: none uses no TLS')
    if (it.auth && !isLoopback(it.host))
      issue(
        ['auth'],
        'would send the password in plain text: use tls: starttls or tls: implicit; only a server on this machine may do without',
      )
  }
  for (const { path, message } of templateIssues(it, it.allowTo)) issue(path, message)
}).transform(({ port, ...rest }) => ({ ...rest, port: port ?? PORTS[rest.tls.mode] }))
export type EmailConfig = z.output<typeof EmailConfig>

export const EmailRoute = z.strictObject({
  to: Recipients.optional().meta({
    description: 'Other recipients for this rule.',
    examples: [['shop@example.com']],
  }),
  cc: Recipients.optional().meta({ description: 'Other copies for this rule.' }),
  subject: templateText().optional().meta({ description: 'Another subject for this rule.' }),
  mode: Mode.optional().meta({ description: 'Another mode for this rule.' }),
  groupBy: templateText().optional().meta({ description: 'The group of a thread, for this rule.' }),
})

/** Options of a rule; the sink's apply where they are absent. */
export interface EmailRoute {
  to?: Template[] | undefined
  cc?: Template[] | undefined
  subject?: Template | undefined
  mode?: 'thread' | 'message' | undefined
  groupBy?: Template | undefined
}

/** Checks options of a rule that depend on the sink's. */
export function checkRoute(route: EmailRoute, { to, allowTo }: EmailConfig): SchemaIssue[] {
  const issues = templateIssues(route, allowTo)
  if (!to && !route.to)
    issues.push({ path: [], message: 'needs to: neither the sink nor the rule has recipients' })
  return issues
}

function templateIssues(
  { to = [], cc = [] }: { to?: Template[] | undefined; cc?: Template[] | undefined },
  allowTo: readonly string[],
): { path: (string | number)[]; message: string }[] {
  if (allowTo.length > 0) return []
  const message =
    'is a template: the sink needs allowTo, the addresses (or patterns such as "*@example.com") that it may give'
  const at = (key: string, list: Template[]) =>
    list.flatMap((it, index) => (it.constant ? [] : [{ path: [key, index], message }]))
  return [...at('to', to), ...at('cc', cc)]
}

function isLoopback(host: string): boolean {
  return (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    host === '::1' ||
    (isIP(host) === 4 && host.startsWith('127.'))
  )
}

/** The recipients of one message. */
export interface Recipients {
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
}

type Found = { ok: true; recipients: Recipients } | { ok: false; detail: string }

type RecipientOptions = Pick<EmailConfig, 'to' | 'cc' | 'allowTo' | 'fallbackTo'>

/**
 * Returns the recipients of a message, each once. An address that a template derives from an object must be in `allowTo`: a user
 * who may annotate a pod must not choose the readers. Throws a TemplateFault.
 */
export function recipientsOf(subject: Routed<EmailRoute>, options: RecipientOptions): Found {
  const { to, cc } = { to: subject.route?.to ?? options.to, cc: subject.route?.cc ?? options.cc }
  if (!to) return { ok: false, detail: 'neither the sink nor the rule has recipients: set to' }
  const seen = new Set<string>()
  const lists: [Mailbox[], Mailbox[]] = [[], []]
  for (const [i, templates] of [to, cc ?? []].entries())
    for (const template of templates) {
      const mailbox = mailboxOf(template, subject, options)
      if (typeof mailbox === 'string') return { ok: false, detail: mailbox }
      if (seen.has(mailbox.address)) continue
      seen.add(mailbox.address)
      lists[i]?.push(mailbox)
    }
  return { ok: true, recipients: { to: lists[0], cc: lists[1] } }
}

function mailboxOf(
  template: Template,
  subject: Routed<EmailRoute>,
  { allowTo, fallbackTo }: RecipientOptions,
): Mailbox | string {
  const text = template.render(subject)
  if (template.constant) return mailboxIn(text) ?? `${JSON.stringify(text)} is not an address`
  const address = addressIn(text)
  if (address !== undefined && isAllowed(address, allowTo)) return { name: '', address }
  if (fallbackTo) return fallbackTo
  const shown = `to ${template.source} gave ${JSON.stringify(text.slice(0, 100))}`
  return address === undefined
    ? `${shown}, which is not an address; fallbackTo would get such messages`
    : `${shown}, which is not in allowTo (${allowTo.join(', ')})`
}

/** The addresses of a message in a fixed order: its target. */
export function addressesOf({ to, cc }: Recipients): string[] {
  return [...to, ...cc].map(({ address }) => address)
}

/** Returns the recipients as one text, which is the lane; those of a message that will be rejected have a lane of their own. */
export function targetOf(subject: Routed<EmailRoute>, config: RecipientOptions): string {
  try {
    const found = recipientsOf(subject, config)
    return found.ok ? addressesOf(found.recipients).join(',') : 'nobody'
  } catch {
    return 'nobody'
  }
}
