import * as z from 'zod'
import { durationText, isForbiddenHost, type Template, templateText } from '../../src/sink/index.ts'
import { type Address, addressOf } from './address.ts'
import { literalFault, topicNameFault } from './topic-name.ts'

/** A constant name is checked when the configuration is read, others when they are known. */
const Topic = templateText().superRefine((template: Template, context) => {
  const fault = template.constant ? topicNameFault(template.source) : literalFault(template.source)
  if (fault !== undefined) context.addIssue({ code: 'custom', message: `is no topic name: ${fault}` })
})

const Key = templateText().superRefine((template: Template, context) => {
  if (template.source === '') context.addIssue({ code: 'custom', message: 'must not be empty' })
})

const Format = z.enum(['binary', 'structured', 'object'])

const STATE_NEEDS_HEADERS =
  'structured cannot be used with state: true, for a deletion has no value that could hold the envelope; use binary or object'

/** What a rule may say for the sink. */
export const KafkaRoute = z
  .strictObject({
    topic: Topic.optional(),
    key: Key.optional(),
    state: z.boolean().optional(),
    format: Format.optional(),
  })
  .refine(({ state, format }) => !(state && format === 'structured'), {
    path: ['format'],
    message: STATE_NEEDS_HEADERS,
  })
export type KafkaRoute = z.output<typeof KafkaRoute>

const Broker = z.string().transform((text, context): Address => {
  const address = addressOf(text)
  if (address) return address
  const hint = /^[A-Za-z0-9.-]+$/.test(text) ? `, such as ${text}:9092` : ''
  context.addIssue({ code: 'custom', message: `must be host:port${hint}` })
  return z.NEVER
})

const Pem = z
  .string()
  .refine(
    (text) => text.includes('-----BEGIN '),
    `must be PEM text (-----BEGIN …); "\${file:/path.pem}" reads it from a file`,
  )

const Tls = z
  .strictObject({
    /** Authorities to trust instead of the system's. */
    ca: Pem.optional(),
    cert: Pem.optional(),
    key: Pem.optional(),
    /** The name that the brokers' certificate must have, if it is not the host's. */
    servername: z.string().min(1).optional(),
    /** Takes any certificate: whoever stands in between can read and change everything. */
    insecureSkipVerify: z.boolean().default(false),
  })
  .refine(({ cert, key }) => (cert === undefined) === (key === undefined), {
    message: 'cert and key belong together; one of them is missing',
  })

const Password = z.strictObject({
  mechanism: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']),
  username: z.string().min(1),
  password: z.string().min(1),
})

const TokenUrl = z
  .url({ protocol: /^https?$/ })
  .transform((text) => new URL(text))
  .refine((url) => !isForbiddenHost(url.hostname), 'is a link-local or cloud metadata address')

const OauthBearer = z
  .strictObject({
    mechanism: z.literal('oauthbearer'),
    /** A token as it is. */
    token: z.string().min(1).optional(),
    /** Or where to get one with client credentials (RFC 6749 §4.4). */
    tokenUrl: TokenUrl.optional(),
    clientId: z.string().min(1).optional(),
    clientSecret: z.string().min(1).optional(),
    scope: z.string().min(1).optional(),
    /** Authorities to trust as the token server's, instead of the system's. */
    tokenCa: Pem.optional(),
  })
  .refine(
    ({ token, tokenUrl, clientId, clientSecret }) =>
      token !== undefined
        ? tokenUrl === undefined
        : [tokenUrl, clientId, clientSecret].every((it) => it !== undefined),
    'needs either token, or tokenUrl with clientId and clientSecret',
  )
  .refine(({ tokenUrl, tokenCa }) => tokenCa === undefined || tokenUrl?.protocol === 'https:', {
    path: ['tokenCa'],
    message: 'is for a tokenUrl with https only',
  })

const COMPRESSIONS = ['gzip', 'zstd', 'lz4', 'none'] as const
const Compression = z.enum(COMPRESSIONS, {
  error: ({ input }) =>
    input === 'snappy'
      ? 'snappy is not supported; gzip (the default), zstd and lz4 are, and compress better'
      : `must be one of ${COMPRESSIONS.join(', ')}`,
})

const CreateTopics = z.strictObject({
  partitions: z.int().min(1).max(10_000),
  /** Default: what the brokers have as default. */
  replicationFactor: z.int().min(1).max(100).optional(),
  configs: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String)).default({}),
})
export type CreateTopics = z.output<typeof CreateTopics>

/** The core gives a batch up after 60 s: a request and one that waits for it must have ended by then. */
const MAX_TIMEOUT = '25s'

export const KafkaConfig = z
  .strictObject({
    brokers: z.array(Broker).min(1),
    clientId: z.string().min(1).max(200).default('kubeherald'),
    topic: Topic.optional(),
    key: Key.optional(),
    format: Format.default('binary'),
    state: z.boolean().default(false),
    compression: Compression.default('gzip'),
    createTopics: CreateTopics.optional(),
    tls: z
      .union([z.boolean(), Tls])
      .optional()
      .transform((it) => (it === true ? { insecureSkipVerify: false } : it || undefined)),
    sasl: z.discriminatedUnion('mechanism', [Password, OauthBearer]).optional(),
    /** How long the brokers may take to write a batch to all replicas that are in sync. */
    timeout: durationText({ least: '100ms', most: MAX_TIMEOUT, example: '10s' }).default(10_000),
    connectTimeout: durationText({ least: '100ms', most: '20s', example: '3s' }).default(3_000),
    /** After so long, leaders and counts of partitions are asked for anew. */
    metadataMaxAge: durationText({ least: '100ms', most: '1h', example: '1m' }).default(60_000),
  })
  .refine(({ state, format }) => !(state && format === 'structured'), {
    path: ['format'],
    message: STATE_NEEDS_HEADERS,
  })
export type KafkaConfig = z.output<typeof KafkaConfig>
