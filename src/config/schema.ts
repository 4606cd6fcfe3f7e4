import { z } from 'zod'
import { Rule } from '../rules/schema.ts'
import { WatchEntry } from '../watch/schema.ts'

const Name = z.string().regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'use lower-case letters, digits and "-"')

const Watch = z.union([
  z
    .string()
    .min(1)
    .transform((kind): WatchEntry => ({ kind })),
  WatchEntry,
])

const RedisUrl = z
  .string()
  .refine(
    (it) => it.startsWith('unix:///') || (URL.canParse(it) && /^rediss?:$/.test(new URL(it).protocol)),
    {
      message:
        'must be a URL such as redis://host:6379, rediss://user:password@host:6380 or unix:///path/to.sock',
    },
  )

/** The file, but for the options of its sinks: those are checked by their type. */
export const ConfigFile = z.strictObject({
  cluster: z
    .string()
    .regex(/^[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?$/, 'use letters, digits, "-", "." and "_"')
    .optional(),
  kubernetes: z
    .strictObject({ kubeconfig: z.string().min(1).optional(), context: z.string().min(1).optional() })
    .default({}),
  redis: z.strictObject({ url: RedisUrl.optional() }).default({}),
  server: z
    .union([
      z.literal(false),
      z.strictObject({
        host: z.string().min(1).default('127.0.0.1'),
        port: z.int().min(0).max(65_535).default(9464),
      }),
    ])
    .default({ host: '127.0.0.1', port: 9464 }),
  watch: z.array(Watch).min(1),
  sinks: z.record(Name, z.looseObject({ type: z.string() })),
  rules: z.array(Rule).min(1),
})
export type ConfigFile = z.output<typeof ConfigFile>

/** A sink of the configuration, its options checked. */
export interface SinkConfig {
  name: string
  type: string
  options: unknown
}

/** A checked configuration. */
export interface Config extends Omit<ConfigFile, 'sinks'> {
  sinks: SinkConfig[]
}
