import * as z from 'zod'
import { durationText, isForbiddenHost, type Template, templateText } from '../../src/sink/index.ts'

/** A constant name is checked when the configuration is read, others when they are known. */
const Topic = templateText().superRefine((template: Template, context) => {
  const fault = template.constant ? topicNameFault(template.source) : literalFault(template.source)
  if (fault !== undefined) context.addIssue({ code: 'custom', message: `is not a topic name: ${fault}` })
})

const Key = templateText().superRefine((template: Template, context) => {
  if (template.source === '') context.addIssue({ code: 'custom', message: 'must not be empty' })
})

const Format = z.enum(['binary', 'structured', 'object'])

const STATE_NEEDS_HEADERS =
  'structured cannot be used with state: true, for a deletion has no value that could hold the envelope; use binary or object'

/** Options of a rule for the sink. */
export const KafkaRoute = z
  .strictObject({
    topic: Topic.optional().meta({ description: 'Another topic for this rule.' }),
    key: Key.optional().meta({ description: 'Another key for this rule.' }),
    state: z.boolean().optional().meta({ description: 'For this rule: the newest of each object.' }),
    format: Format.optional().meta({ description: 'Another format for this rule.' }),
  })
  .refine(({ state, format }) => !(state && format === 'structured'), {
    path: ['format'],
    message: STATE_NEEDS_HEADERS,
  })
export type KafkaRoute = z.output<typeof KafkaRoute>

const Broker = z.string().transform((text, context): Address => {
  const address = addressOf(text)
  if (address) return address
  context.addIssue({ code: 'custom', message: 'must be host:port, such as kafka-0:9092' })
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
    ca: Pem.optional().meta({ description: 'Certificates of authorities, as PEM text.' }),
    cert: Pem.optional().meta({ description: 'The own certificate, as PEM text.' }),
    key: Pem.optional().meta({ description: 'Its key, as PEM text.' }),
    servername: z
      .string()
      .min(1)
      .optional()
      .meta({ description: 'The name that the certificate of the brokers must have.' }),
    /** Without verification, a man in the middle can read and change everything. */
    insecureSkipVerify: z.boolean().default(false).meta({ description: 'true: takes any certificate.' }),
  })
  .refine(({ cert, key }) => (cert === undefined) === (key === undefined), {
    message: 'cert and key belong together; one of them is missing',
  })

const MECHANISM = { description: 'plain, scram-sha-256, scram-sha-512 or oauthbearer.' }

const Password = z.strictObject({
  mechanism: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).meta(MECHANISM),
  username: z.string().min(1).meta({ description: 'For plain and scram.' }),
  password: z.string().min(1).meta({ description: 'For plain and scram.' }),
})

const TokenUrl = z
  .url({ protocol: /^https?$/ })
  .transform((text) => new URL(text))
  .refine((url) => !isForbiddenHost(url.hostname), 'is a link-local or cloud metadata address')

const OauthBearer = z
  .strictObject({
    mechanism: z.literal('oauthbearer').meta(MECHANISM),
    token: z.string().min(1).optional().meta({ description: 'For oauthbearer: the token itself.' }),
    /** With client credentials (RFC 6749 §4.4). */
    tokenUrl: TokenUrl.optional().meta({ description: 'For oauthbearer: where tokens come from.' }),
    clientId: z.string().min(1).optional().meta({ description: 'Who asks there.' }),
    clientSecret: z.string().min(1).optional().meta({ description: 'Who asks there.' }),
    scope: z.string().min(1).optional().meta({ description: 'What for.' }),
    tokenCa: Pem.optional().meta({ description: 'Certificates of authorities for tokenUrl, as PEM text.' }),
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
  partitions: z.int().min(1).max(10_000).meta({ description: 'How many partitions.' }),
  /** Default: the default of the brokers. */
  replicationFactor: z.int().min(1).max(100).optional().meta({ description: 'How many replicas.' }),
  configs: z
    .record(
      z.string(),
      z.union([z.string(), z.number(), z.boolean()]).transform(String).meta({ description: 'A text.' }),
    )
    .default({})
    .meta({ description: 'Settings of the topics.' }),
})
export type CreateTopics = z.output<typeof CreateTopics>

/** The core aborts a batch after 60 s: a request and one that waits for it must end before. */
const MAX_TIMEOUT = '25s'

export const KafkaConfig = z
  .strictObject({
    brokers: z
      .array(Broker)
      .min(1)
      .meta({ description: 'host:port of some brokers.', examples: [['kafka-0:9092', 'kafka-1:9092']] }),
    clientId: z
      .string()
      .min(1)
      .max(200)
      .default('kubeherald')
      .meta({ description: 'What the brokers call it; default: kubeherald.' }),
    topic: Topic.optional().meta({ description: 'The topic: a template.', examples: ['k8s.events'] }),
    key: Key.optional().meta({
      description:
        'The key of a record: a template; default: the cluster, kind, namespace and name of the object.',
    }),
    format: Format.default('binary').meta({
      description: 'CloudEvents in binary (default) or structured mode, or the object.',
    }),
    state: z
      .boolean()
      .default(false)
      .meta({ description: 'true for a compacted topic with the newest of each object.' }),
    compression: Compression.default('gzip').meta({ description: 'gzip (default), zstd, lz4 or none.' }),
    createTopics: CreateTopics.optional().meta({
      description: 'Creates topics that are not there.',
      examples: [{ partitions: 12, replicationFactor: 3 }],
    }),
    tls: z
      .union([z.boolean(), Tls])
      .optional()
      .transform((it) => (it === true ? { insecureSkipVerify: false } : it || undefined))
      .meta({ description: 'true, or certificates.' }),
    sasl: z
      .discriminatedUnion('mechanism', [Password, OauthBearer])
      .optional()
      .meta({
        description: 'How to sign in.',
        examples: [{ mechanism: 'scram-sha-512', username: 'herald', password: `\${env:KAFKA_PASSWORD}` }],
      }),
    /** How long the brokers may take to write a batch to all replicas that are in sync. */
    timeout: durationText({ least: '100ms', most: MAX_TIMEOUT, example: '10s' })
      .default(10_000)
      .meta({ description: 'Of a request, at most 25s; default: 10s.' }),
    connectTimeout: durationText({ least: '100ms', most: '20s', example: '3s' })
      .default(3_000)
      .meta({ description: 'Of a connection; default: 3s.' }),
    /** The age at which leaders and partition counts are fetched again. */
    metadataMaxAge: durationText({ least: '100ms', most: '1h', example: '1m' })
      .default(60_000)
      .meta({ description: 'How long it is believed where partitions are; default: 1m.' }),
  })
  .refine(({ state, format }) => !(state && format === 'structured'), {
    path: ['format'],
    message: STATE_NEEDS_HEADERS,
  })
export type KafkaConfig = z.output<typeof KafkaConfig>

/** Where a broker listens. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** `kafka-1:9092`, `[fd00::1]:9092`; undefined when it is neither. */
function addressOf(text: string): Address | undefined {
  const [, v6, name, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text) ?? []
  const host = v6 ?? name
  const port = Number(digits)
  return host !== undefined && port > 0 && port < 65_536 ? { host, port } : undefined
}

export function shownAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

const OTHERS = /[^a-zA-Z0-9._-]/

/** Why Kafka would refuse this name, or undefined. */
export function topicNameFault(name: string): string | undefined {
  if (name === '') return 'it is empty'
  if (name === '.' || name === '..') return 'it is "." or ".."'
  if (name.length > 249) return `it has ${name.length} characters, and 249 are the most`
  if (OTHERS.test(name)) return 'it has other characters than letters, digits, ".", "_" and "-"'
  return undefined
}

/** A hyphen trims the whitespace next to it. */
const MAX_SOURCE = 1_000
const OUTPUT = /(?:\s*\{\{-|\{\{)(?:"[^"]*"|'[^']*'|[^"'])*?(?:-\}\}\s*|\}\})/g

/** Returns why no value can make a template a valid topic name; undefined if that depends on the object. */
function literalFault(source: string): string | undefined {
  // With conditions, parts may be left out.
  if (source.includes('{%') || source.length > MAX_SOURCE) return undefined
  const literal = source.trim().replace(OUTPUT, '')
  if (literal.length > 249)
    return `it has ${literal.length} characters that are always there, and 249 are the most`
  const [other] = OTHERS.exec(literal) ?? []
  return other === undefined
    ? undefined
    : `${JSON.stringify(other)} is always in it, and only letters, digits, ".", "_" and "-" may be`
}
