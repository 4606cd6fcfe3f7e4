import { existsSync, readFileSync } from 'node:fs'
import * as z from 'zod'
import { durationText } from '../sink/duration.ts'

const NamespacePattern = z.string().min(1, 'is empty: leave "namespaces" out for all of them')

const SHARDS_RULE = 'must be a whole number from 2 to 16; leave it out to read all in one'

const POSITION_RULE = 'must be a resourceVersion in quotes, such as "73144"'

/** One entry of `watch:`. */
export const WatchEntry = z.strictObject({
  kind: z
    .string()
    .min(1, 'is empty: name a kind')
    .meta({ description: 'Deployment, deployments.apps or apps/v1/Deployment.', examples: ['Event'] }),
  namespaces: z
    .union([
      NamespacePattern.transform((it) => [it]),
      z.array(NamespacePattern).min(1, 'is an empty list: leave it out for all namespaces'),
    ])
    .optional()
    .meta({ description: 'Names or globs, "!" for not; without it, all.', examples: [['shop', 'pay-*']] }),
  labels: z
    .string()
    .min(1, 'is empty: leave it out for all labels')
    .optional()
    .meta({
      description: 'A label selector that the API server applies.',
      examples: ['team in (shop, pay)'],
    }),
  fields: z
    .string()
    .min(1, 'is empty: leave it out')
    .optional()
    .meta({
      description: 'A field selector that the API server applies.',
      examples: ['status.phase!=Succeeded'],
    }),
  initial: z
    .union(
      [
        z.enum(['now', 'emit']),
        z.strictObject({
          resourceVersion: z
            .string(POSITION_RULE)
            .regex(/^[1-9]\d{0,19}$/, POSITION_RULE)
            .meta({
              description: 'Begin with the changes after this position.',
              examples: ['73144'],
            }),
        }),
      ],
      'must be now, emit, or a position: { resourceVersion: "73144" }',
    )
    .optional()
    .meta({
      description: 'How the first start begins: now, emit for all that exists, or at a position.',
      examples: ['emit', { resourceVersion: '73144' }],
    }),
  /** Milliseconds. */
  verify: durationText({ least: '1m', most: '7d', example: '6h' })
    .optional()
    .meta({ description: 'How often the index is compared with the cluster.', examples: ['6h'] }),
  shards: z
    .number(SHARDS_RULE)
    .int(SHARDS_RULE)
    .min(2, SHARDS_RULE)
    .max(16, SHARDS_RULE)
    .optional()
    .meta({ description: 'Read in so many parts, where the API server splits it.' }),
})
export type WatchEntry = z.infer<typeof WatchEntry>

/** An entry as it may be written: a bare text is a kind. */
export const WatchEntryInput = z.union([
  z
    .string()
    .min(1, 'is empty: name a kind')
    .transform((kind): WatchEntry => ({ kind })),
  WatchEntry,
])

const Kinds = z.array(z.string().min(1, 'is empty: name a kind')).max(50, 'has more than 50 kinds')

/** By default. */
export const MAX_OBJECTS = 200_000

const COUNT_RULE = 'must be a whole number from 100 to 10000000'

/** `enrich:`, what is read of the objects around an event where rules ask for it. */
export const EnrichSettings = z.strictObject({
  owners: Kinds.default([]).meta({
    description: 'Kinds between an object and the top of its owners, besides ReplicaSet and Job.',
    examples: [['rollouts.argoproj.io']],
  }),
  regarding: Kinds.min(1, 'is an empty list: leave it out for the usual kinds')
    .optional()
    .meta({
      description: 'Kinds of objects that Events are about, for rules that name none in regarding.kind.',
      examples: [['Pod', 'Node']],
    }),
  maxObjects: z
    .number(COUNT_RULE)
    .int(COUNT_RULE)
    .min(100, COUNT_RULE)
    .max(10_000_000, COUNT_RULE)
    .default(MAX_OBJECTS)
    .meta({
      description: 'Maximum number of objects whose metadata is kept in memory; default: 200000.',
      examples: [200_000],
    }),
})
export type EnrichSettings = z.output<typeof EnrichSettings>

const SECONDS_RULE = 'must be a whole number of seconds, at least 1'
const Seconds = z
  .number(SECONDS_RULE)
  .int(SECONDS_RULE)
  .min(1, SECONDS_RULE)
  .max(3_600, 'is more than an hour')

/** client-go's jitter: pauses between tries are longer by up to this much of them. */
export const JITTER = 1.2

const DEFAULTS = { durationSeconds: 15, renewDeadlineSeconds: 10, retryPeriodSeconds: 2 }

/** What a map under `leases:` holds; defaults and rules are those of client-go's leader election. */
export const LeaseSettings = z
  .strictObject({
    /** Where the Leases lie; the pod's own namespace by default. */
    namespace: z
      .string()
      .max(63, 'is longer than 63 characters')
      .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'is not a name of a namespace: use a-z, 0-9 and "-"')
      .optional()
      .meta({ description: 'Where the Leases lie.' }),
    durationSeconds: Seconds.default(DEFAULTS.durationSeconds).meta({
      description: 'A holder that was not seen to renew for so long is taken for dead; default: 15.',
    }),
    renewDeadlineSeconds: Seconds.default(DEFAULTS.renewDeadlineSeconds).meta({
      description: 'A holder that could not renew for so long stops; default: 10.',
    }),
    retryPeriodSeconds: Seconds.default(DEFAULTS.retryPeriodSeconds).meta({
      description: 'Between renewals; default: 2.',
    }),
  })
  .superRefine((settings, context) => {
    const { durationSeconds, renewDeadlineSeconds, retryPeriodSeconds } = settings
    // The one that is not the default is the one in the file.
    const complain = (key: keyof typeof DEFAULTS, other: keyof typeof DEFAULTS, rules: [string, string]) => {
      const at = settings[key] === DEFAULTS[key] ? other : key
      context.addIssue({ code: 'custom', path: [at], message: at === key ? rules[0] : rules[1] })
    }
    if (durationSeconds <= renewDeadlineSeconds)
      complain('durationSeconds', 'renewDeadlineSeconds', [
        `must be more than "renewDeadlineSeconds", which is ${renewDeadlineSeconds}: a holder has to stop before others may start`,
        `must be less than "durationSeconds", which is ${durationSeconds}: a holder has to stop before others may start`,
      ])
    if (renewDeadlineSeconds <= retryPeriodSeconds * JITTER)
      complain('renewDeadlineSeconds', 'retryPeriodSeconds', [
        `must be more than ${JITTER} times "retryPeriodSeconds", which is ${retryPeriodSeconds}: one failure has to leave time for another try`,
        `must be less than "renewDeadlineSeconds", which is ${renewDeadlineSeconds}, divided by ${JITTER}: one failure has to leave time for another try`,
      ])
  })
export type LeaseSettings = z.output<typeof LeaseSettings>

/** `true` is a map of defaults. */
export const LeasesInput = z
  .union([z.literal(false), z.literal(true).transform(() => LeaseSettings.parse({})), LeaseSettings])
  .default(false)

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace'

/** The namespace of the Leases: as configured, else the pod's, else the kubeconfig context's, else `default`. */
export function leaseNamespace(
  { namespace }: Pick<LeaseSettings, 'namespace'>,
  env: NodeJS.ProcessEnv,
  ofContext: string | undefined,
  file = NAMESPACE_FILE,
): string {
  const mounted = () => (existsSync(file) ? readFileSync(file, 'utf8').trim() : '')
  return namespace || env['POD_NAMESPACE'] || mounted() || ofContext || 'default'
}
