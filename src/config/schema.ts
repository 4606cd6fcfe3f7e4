import * as z from 'zod'
import { MessageTemplates } from '../render/message-schema.ts'
import { LIMIT_KEYS, LimitKeysShape } from '../rules/limits/schema.ts'
import { Name, Rule } from '../rules/schema.ts'
import { Journal, sizeText } from '../store/commit/journal-schema.ts'
import { LogsOption } from '../watch/logs/schema.ts'
import { EnrichSettings, LeasesInput, WatchEntryInput } from '../watch/schema.ts'
import type { Routes } from './routes.ts'
import { Notify } from './schema/notify.ts'
import { DeadLetters, History, QueueSettings } from './schema/queue.ts'
import { Redis } from './schema/redis.ts'
import { Server } from './schema/server.ts'

const ClusterName = z
  .string()
  .max(63, 'is longer than 63 characters')
  .regex(
    /^[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?$/,
    'is not a cluster name: use letters, digits, "-", "." and "_", such as prod-eu',
  )

const LOGS_RULE = 'must be a whole number from 1 to 50'

/** A rule with its limits and the templates of its messages. */
const RuleWithMessage = Rule.extend({
  message: MessageTemplates.optional().meta({
    description: 'The text of notifications: a Liquid template, or a map with the parts to replace.',
    examples: ['{{ name }} is down'],
  }),
  logs: LogsOption,
  ...LimitKeysShape,
})

export { RuleWithMessage }

/** Keys that belong to one rule, and therefore cannot be a default. */
export const NEVER_DEFAULT = ['name', 'when', 'if', 'drop'] as const

/** Keys that a rule sets to `false` to ignore the default of its file. `resolve` is not one: `false` is a value of it. */
export const TURNED_OFF_BY_FALSE: readonly string[] = [
  ...LIMIT_KEYS.filter((key) => key !== 'resolve'),
  'severity',
  'labels',
  'message',
  'logs',
]

/** The keys of rules that a file may set for all its rules. */
export const RuleDefaults = z.strictObject(without(RuleWithMessage.shape, NEVER_DEFAULT))

const VarName = z
  .string()
  .regex(/^[A-Za-z][\w.-]*$/, 'is not a name: use letters, digits, "_", "-" and ".", beginning with a letter')

/** The values of `${var:NAME}`. */
const Vars = z.record(VarName, z.unknown().meta({ description: 'Any value.' }))

const From = z.string().min(1, 'is empty: name a file')

/** Files to include, with default values for their rules. */
export const IncludeEntry = z.strictObject({
  from: z
    .union([From, z.array(From).min(1, 'is an empty list: name a file')])
    .meta({ description: 'A file, a glob, or kubeherald:SET.', examples: ['teams/*.yaml'] }),
  vars: Vars.optional().meta({ description: 'Variables for these files: they override their own.' }),
  ...without(RuleWithMessage.shape, [...NEVER_DEFAULT, 'from']),
})

const Include = z.union([From, z.array(z.union([From, IncludeEntry]))])

const Tests = z.array(z.unknown())

/** The keys of an included file. Its rules and watches are checked together with those of all other files. */
export const IncludedFile = z.strictObject({
  include: Include.optional(),
  vars: Vars.optional(),
  defaults: RuleDefaults.optional(),
  watch: z.array(z.unknown()).optional(),
  rules: z.array(z.unknown()).optional(),
  tests: Tests.optional(),
})

/** The main file. Sink types check the options of its sinks. */
export const ConfigFile = z.strictObject({
  include: Include.optional().meta({
    description:
      'Rules in other files: files, globs, and sets that come with kubeherald. They come before the rules of this file.',
    examples: [['teams/*.yaml', 'kubeherald:crash-loops']],
  }),
  vars: Vars.optional().meta({
    description: `Variables: \${var:NAME} is replaced by the value, which keeps its type.`,
    examples: [{ ours: ['shop', 'pay-*'] }],
  }),
  defaults: RuleDefaults.optional().meta({
    description: 'Default values for keys of the rules.',
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
      logsPerSecond: z
        .int(LOGS_RULE)
        .min(1, LOGS_RULE)
        .max(50, LOGS_RULE)
        .optional()
        .meta({
          description: 'Requests for logs of containers per second and process, at most; default: 5.',
          examples: [10],
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
      description: 'Where probes, metrics, the page and the API answer; false for nowhere.',
      examples: [{ host: '::', port: 9464 }],
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
  history: History.optional().meta({
    description: 'What became of each delivery, for kubeherald history; false: nothing is kept.',
    examples: [{ keep: '7d', maxBytes: '256MB' }],
  }),
  notify: Notify.optional().meta({
    description: 'Where kubeherald reports its own failures.',
    examples: [{ to: 'ops', heartbeat: '1h' }],
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
  /** Its type and options as read, secrets included; a sink is reopened when they change. Never print it. */
  source: string
  /** Templates for parts of messages that the rule's `message` does not set. */
  messages?: MessageTemplates
  /** Bounds of its queue; undefined for the defaults. */
  queue?: QueueSettings
}

/** A checked configuration, without the sink types of its plug-ins. */
export interface Config
  extends Omit<ConfigFile, 'sinks' | 'plugins' | 'include' | 'vars' | 'defaults' | 'tests'> {
  sinks: SinkConfig[]
  routes: Routes
  /** Packages and files with sink types, as written. */
  plugins?: readonly string[]
  /** Values of `${env:…}` and `${file:…}`: to be hidden in what is shown. Never print them. */
  secrets?: readonly string[]
  /** The file as read, secrets included; a reload compares it. Never print it. */
  written?: Readonly<Record<string, unknown>>
  /** Returns the place of a value, as `kubeherald.yaml:12:15`, for errors at run time. */
  placeOf?: (path: readonly PropertyKey[], offset?: number) => string
}

function without<Shape extends object, Key extends string>(
  shape: Shape,
  keys: readonly Key[],
): Omit<Shape, Key> {
  const left: readonly string[] = keys
  return Object.fromEntries(Object.entries(shape).filter(([key]) => !left.includes(key))) as never
}
