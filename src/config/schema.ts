import * as z from 'zod'
import { EnrichSettings } from '../enrich/schema.ts'
import { Journal, sizeText } from '../journal/schema.ts'
import { LimitKeysShape } from '../limits/schema.ts'
import { MessageTemplates } from '../render/message-schema.ts'
import { Name, Rule } from '../rules/schema.ts'
import { LeasesInput } from '../watch/leases/settings.ts'
import { WatchEntryInput } from '../watch/schema.ts'
import { DeadLetters, QueueSettings } from './queue-schema.ts'
import { Redis } from './redis-schema.ts'
import type { Routes } from './routes.ts'
import { NEVER_DEFAULT } from './rule-defaults.ts'

const ClusterName = z
  .string()
  .max(63, 'is longer than 63 characters')
  .regex(
    /^[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?$/,
    'is no cluster name: use letters, digits, "-", "." and "_"',
  )

const PORT_RULE = 'must be a port from 1 to 65535, or 0 for any free one'

/** As a number, or as text: that is what `${env:PORT}` gives. */
const Port = z.union(
  [
    z.number(PORT_RULE).refine(isPort, PORT_RULE),
    z
      .string()
      .regex(/^\d{1,5}$/, PORT_RULE)
      .transform(Number)
      .refine(isPort, PORT_RULE),
  ],
  PORT_RULE,
)

/** Where /livez, /readyz and /metrics answer. */
const Server = z.strictObject({
  host: z
    .string()
    .min(1, 'is empty: 127.0.0.1 is this machine, 0.0.0.0 all interfaces')
    .default('127.0.0.1')
    .meta({ description: '127.0.0.1 for this machine (default), 0.0.0.0 for all interfaces.' }),
  port: Port.default(9464).meta({ description: '1 to 65535, or 0 for any free one; default: 9464.' }),
})

/** A rule, with what people shall read of what it sends. */
const RuleWithMessage = Rule.extend({
  message: MessageTemplates.optional().meta({
    description: 'What people read: a Liquid template, or the parts that differ from the usual.',
    examples: ['{{ name }} is down'],
  }),
  ...LimitKeysShape,
})

export { RuleWithMessage }

/** What rules may leave unsaid: any key but those that say what one rule is for. */
export const RuleDefaults = z.strictObject(without(RuleWithMessage.shape, NEVER_DEFAULT))

const VarName = z
  .string()
  .regex(/^[A-Za-z][\w.-]*$/, 'is no name: use letters, digits, "_", "-" and ".", beginning with a letter')

/** What `${var:NAME}` stands for. */
const Vars = z.record(VarName, z.unknown().meta({ description: 'Any value.' }))

const From = z.string().min(1, 'is empty: name a file')

/** Files, with what their rules say when they don't say it themselves. */
export const IncludeEntry = z.strictObject({
  from: z
    .union([From, z.array(From).min(1, 'is an empty list: name a file')])
    .meta({ description: 'A file, a glob, or kubeherald:SET.' }),
  vars: Vars.optional().meta({ description: 'Variables for these files: they go before their own.' }),
  ...without(RuleWithMessage.shape, [...NEVER_DEFAULT, 'from']),
})

export const Include = z.union([From, z.array(z.union([From, IncludeEntry]))])

const Tests = z.array(z.unknown())

/** What a file may say that another one includes; its rules and watches are checked with all others. */
export const IncludedFile = z.strictObject({
  include: Include.optional(),
  vars: Vars.optional(),
  defaults: RuleDefaults.optional(),
  watch: z.array(z.unknown()).optional(),
  rules: z.array(z.unknown()).optional(),
  tests: Tests.optional(),
})

/** The file, but for the options of its sinks: those are checked by their types. */
export const ConfigFile = z.strictObject({
  include: Include.optional().meta({
    description:
      'Rules in other files: files, globs, and sets that come with kubeherald. They come before the rules of this file.',
    examples: [['teams/*.yaml', 'kubeherald:crash-loops']],
  }),
  vars: Vars.optional().meta({
    description: `Values with a name: \${var:NAME} stands for them, with their type.`,
    examples: [{ ours: ['shop', 'pay-*'] }],
  }),
  defaults: RuleDefaults.optional().meta({
    description: 'What rules say when they do not say it themselves.',
    examples: [{ to: 'oncall', throttle: { every: '10m' } }],
  }),
  cluster: ClusterName.optional().meta({
    description: 'The name of the cluster in events and in keys of Redis: do not change it later.',
    examples: ['prod-eu'],
  }),
  kubernetes: z
    .strictObject({
      kubeconfig: z
        .string()
        .min(1, 'is empty')
        .optional()
        .meta({ description: "A kubeconfig, relative to this file's folder.", examples: ['kube/config'] }),
      context: z
        .string()
        .min(1, 'is empty')
        .optional()
        .meta({ description: 'Its context; default: the current one.' }),
      /** Bytes of JSON. */
      maxObjectSize: sizeText({
        least: 1e6,
        most: 2 ** 30,
        rule: 'must be a size from 1MB to 1GiB, such as 64MiB',
      })
        .optional()
        .meta({
          description: 'Of an object with more JSON, only the metadata is read; default: 64MiB.',
          examples: ['128MiB'],
        }),
    })
    .default({})
    .meta({ description: 'How to reach the cluster.' }),
  redis: Redis.default({}).meta({
    description: 'Where deliveries wait; without it a private redis-server.',
    examples: [{ url: 'redis://redis:6379' }],
  }),
  leases: LeasesInput.meta({ description: 'Shares the watches out among processes.', examples: [true] }),
  server: z
    .union([z.literal(false), Server])
    .default({ host: '127.0.0.1', port: 9464 })
    .meta({
      description: 'Where /livez, /readyz and /metrics answer; false for nowhere.',
      examples: [{ host: '0.0.0.0', port: 9464 }],
    }),
  plugins: z
    .array(z.string().min(1, 'is empty'))
    .default([])
    .meta({ description: 'Packages and files with sink types.', examples: [['./sinks/tickets.mts']] }),
  watch: z
    .array(WatchEntryInput)
    .min(1, 'is an empty list: name the kinds to watch, such as [Event, Deployment]')
    .meta({
      description: 'What is read from the cluster: kinds, or maps that narrow them.',
      examples: [['Event', { kind: 'Deployment', namespaces: ['shop'] }]],
    }),
  enrich: EnrichSettings.optional().meta({
    description: 'What is read of the objects around an event, where rules ask for it.',
    examples: [{ owners: ['rollouts.argoproj.io'] }],
  }),
  sinks: z
    .record(
      Name,
      z.looseObject({
        type: z
          .string()
          .meta({ description: 'What kind of sink it is: a built-in one, or that of a plug-in.' }),
        messages: MessageTemplates.optional(),
        queue: QueueSettings.optional().meta({
          description: 'Bounds of what waits for it in Redis.',
          examples: [{ maxAge: '24h', maxBytes: '256MB' }],
        }),
      }),
    )
    .refine(
      (sinks) => Object.keys(sinks).length > 0,
      'is empty: give it a sink, such as { screen: { type: stdout } }',
    )
    .meta({
      description: 'Where events can go, by names of your own.',
      examples: [{ oncall: { type: 'slack', token: `\${env:SLACK_TOKEN}`, channel: '#oncall' } }],
    }),
  rules: z
    .array(RuleWithMessage)
    .min(1, 'is an empty list: without a rule nothing is sent')
    .meta({
      description: 'What goes where, read from top to bottom.',
      examples: [[{ name: 'all', to: ['screen'] }]],
    }),
  tests: Tests.optional().meta({ description: 'What kubeherald test holds the rules against.' }),
  journal: Journal.optional().meta({
    description: 'Keeps what happened, for kubeherald backtest.',
    examples: [{ keep: '24h', max: '64MB' }],
  }),
  deadLetters: DeadLetters.optional().meta({
    description: 'How long dead letters are kept, and where they go then.',
    examples: [{ maxAge: '7d', archive: { file: '/var/log/kubeherald/dead-letters.ndjson' } }],
  }),
})
export type ConfigFile = z.output<typeof ConfigFile>

/** A sink of the configuration, its options checked. */
export interface SinkConfig {
  name: string
  type: string
  options: unknown
  /** Its type and options as they were read, secrets included: others are another sink. Never to be shown. */
  source: string
  /** What people shall read, where the rule's `message` does not say. */
  messages?: MessageTemplates
  /** Bounds of what waits for it, where they are not the usual ones. */
  queue?: QueueSettings
}

/** A checked configuration; what its plug-ins gave stands beside it. */
export interface Config
  extends Omit<ConfigFile, 'sinks' | 'plugins' | 'include' | 'vars' | 'defaults' | 'tests'> {
  sinks: SinkConfig[]
  routes: Routes
  /** Packages and files with sink types, as they are named. */
  plugins?: readonly string[]
  /** The file as it was read, secrets included: what differs in it is what changed. Never to be shown. */
  written?: Readonly<Record<string, unknown>>
  /** Where a value stands, as `kubeherald.yaml:12:15`: for what turns out to be wrong only later. */
  placeOf?: (path: readonly PropertyKey[], offset?: number) => string
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 0 && port <= 65_535
}

function without<Shape extends object, Key extends string>(
  shape: Shape,
  keys: readonly Key[],
): Omit<Shape, Key> {
  const left: readonly string[] = keys
  return Object.fromEntries(Object.entries(shape).filter(([key]) => !left.includes(key))) as never
}
