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
  host: z.string().min(1, 'is empty: 127.0.0.1 is this machine, 0.0.0.0 all interfaces').default('127.0.0.1'),
  port: Port.default(9464),
})

/** A rule, with what people shall read of what it sends. */
const RuleWithMessage = Rule.extend({ message: MessageTemplates.optional(), ...LimitKeysShape })

export { RuleWithMessage }

/** What rules may leave unsaid: any key but those that say what one rule is for. */
export const RuleDefaults = z.strictObject(without(RuleWithMessage.shape, NEVER_DEFAULT))

const VarName = z
  .string()
  .regex(/^[A-Za-z][\w.-]*$/, 'is no name: use letters, digits, "_", "-" and ".", beginning with a letter')

/** What `${var:NAME}` stands for. */
const Vars = z.record(VarName, z.unknown())

const From = z.string().min(1, 'is empty: name a file')

/** Files, with what their rules say when they don't say it themselves. */
export const IncludeEntry = z.strictObject({
  from: z.union([From, z.array(From).min(1, 'is an empty list: name a file')]),
  vars: Vars.optional(),
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
  /** Files whose rules come before those of this one. */
  include: Include.optional(),
  vars: Vars.optional(),
  defaults: RuleDefaults.optional(),
  cluster: ClusterName.optional(),
  kubernetes: z
    .strictObject({
      kubeconfig: z.string().min(1, 'is empty').optional(),
      context: z.string().min(1, 'is empty').optional(),
      /** Bytes of JSON; of a larger object only the metadata is read. */
      maxObjectSize: sizeText({
        least: 1e6,
        most: 2 ** 30,
        rule: 'must be a size from 1MB to 1GiB, such as 64MiB',
      }).optional(),
    })
    .default({}),
  redis: Redis.default({}),
  /** A Lease for each watch, so that processes share them out. */
  leases: LeasesInput,
  server: z.union([z.literal(false), Server]).default({ host: '127.0.0.1', port: 9464 }),
  /** Packages and files with sink types; `plugins.ts` loads them. */
  plugins: z.array(z.string().min(1, 'is empty')).default([]),
  watch: z
    .array(WatchEntryInput)
    .min(1, 'is an empty list: name the kinds to watch, such as [Event, Deployment]'),
  /** What is read of the objects around events, where rules ask for it. */
  enrich: EnrichSettings.optional(),
  sinks: z
    .record(
      Name,
      z.looseObject({
        type: z.string(),
        messages: MessageTemplates.optional(),
        queue: QueueSettings.optional(),
      }),
    )
    .refine(
      (sinks) => Object.keys(sinks).length > 0,
      'is empty: give it a sink, such as { screen: { type: stdout } }',
    ),
  rules: z.array(RuleWithMessage).min(1, 'is an empty list: without a rule nothing is sent'),
  /** For `kubeherald test`. */
  tests: Tests.optional(),
  /** What happened, kept for `kubeherald backtest`. */
  journal: Journal.optional(),
  /** How long, and how many, dead letters are kept. */
  deadLetters: DeadLetters.optional(),
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
