import * as z from 'zod'
import { tlsOptions } from '../../sink/tls-options.ts'

const URL_FORM = 'must be redis://host:6379, rediss://user:password@host:6380 or unix:///path/to.sock'

const RedisUrl = z.string().refine(isRedisUrl, {
  error: ({ input }) =>
    hasPortOutOfRange(String(input)) ? 'has a port out of range: it must be 1 to 65535' : URL_FORM,
})

const NODE = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::(\d{1,5}))?$/

const nodes = (example: string) =>
  z
    .array(
      z.string().refine((text) => {
        const match = NODE.exec(text)
        return match !== null && (match[1] === undefined || isPort(Number(match[1])))
      }, `is not an address: write host:port, such as ${example}`),
    )
    .min(1, `is an empty list: name some, such as [${example}]`)

const Tls = z.union([z.literal(true), tlsOptions('/etc/redis')])

const Secret = z.string().min(1, 'is empty')

const Sentinel = z
  .strictObject({
    name: z
      .string()
      .min(1, 'is empty: it is what the sentinels call the master, often mymaster')
      .meta({ description: 'What the Sentinels call the master.', examples: ['mymaster'] }),
    nodes: nodes('sentinel-0:26379').meta({
      description: 'Addresses of the Sentinels.',
      examples: [['sentinel-0:26379']],
    }),
    username: Secret.optional().meta({ description: 'Of the Sentinels themselves.' }),
    password: Secret.optional().meta({ description: 'Of the Sentinels themselves.' }),
    tls: Tls.optional().meta({ description: 'Of the Sentinels themselves: true, or certificates.' }),
  })
  .superRefine(userNeedsPassword)

/** Where Redis is; without any of them there is a private one. */
export const Redis = z
  .strictObject({
    url: RedisUrl.optional().meta({
      description: 'redis://, rediss:// (TLS) or unix:// address.',
      examples: ['redis://redis:6379/1'],
    }),
    username: Secret.optional().meta({ description: 'Instead of that in the URL.' }),
    password: Secret.optional().meta({
      description: 'Instead of that in the URL.',
      examples: [`\${file:redis-password}`],
    }),
    tls: Tls.optional().meta({ description: 'true, or certificates.' }),
    sentinel: Sentinel.optional().meta({ description: 'Redis behind Sentinels.' }),
    cluster: z
      .strictObject({
        nodes: nodes('redis-0:6379').meta({
          description: 'Addresses of some of its nodes.',
          examples: [['redis-0:6379']],
        }),
      })
      .optional()
      .meta({ description: 'A Redis Cluster.' }),
    share: z
      .number()
      .gt(0, 'must be more than 0')
      .max(1, 'must be 1 at most')
      .optional()
      .meta({
        description:
          'The part of maxmemory whose shares bound queues, dead letters and history. Default 1; of several clusters with one Redis all together at most 1.',
        examples: [0.5],
      }),
  })
  .superRefine((redis, context) => {
    const { url, sentinel, cluster, tls } = redis
    const ways = Object.entries({ url, sentinel, cluster }).flatMap(([key, value]) => (value ? [key] : []))
    for (const key of ways.slice(1))
      refuse(context, [key], `cannot be combined with "${ways[0]}": use one of them`)
    if (ways.length === 0)
      for (const key of ['username', 'password', 'tls', 'share'] as const)
        if (redis[key] !== undefined)
          refuse(context, [key], 'needs "url", "sentinel" or "cluster" in the same map')
    userNeedsPassword(redis, context)
    if (url !== undefined && isRedisUrl(url)) checkUrl(url, redis, context)
    if (url !== undefined && tls && !url.startsWith('rediss://'))
      refuse(context, ['tls'], 'does not go with this url', `write rediss:// instead of ${schemeOf(url)}`)
  })

interface Identity {
  username?: string | undefined
  password?: string | undefined
}

/** A user or password in both places is an error, because one would silently override the other. */
function checkUrl(url: string, { username, password }: Identity, context: z.RefinementCtx): void {
  if (url.startsWith('unix:')) return
  const parsed = new URL(url)
  const twice = 'is already set in "url": remove one of them'
  if (username !== undefined && parsed.username) refuse(context, ['username'], twice)
  if (password !== undefined && parsed.password) refuse(context, ['password'], twice)
}

function userNeedsPassword({ username, password }: Identity, context: z.RefinementCtx): void {
  if (username !== undefined && password === undefined)
    refuse(
      context,
      ['username'],
      'needs "password" in the same map',
      `password: "\${file:/run/secrets/redis-password}"`,
    )
}

function refuse(context: z.RefinementCtx, path: string[], message: string, hint?: string): void {
  context.addIssue({ code: 'custom', path, message, ...(hint !== undefined && { params: { hint } }) })
}

function isRedisUrl(text: string): boolean {
  if (text.startsWith('unix:///')) return text.length > 'unix:///'.length
  if (!URL.canParse(text)) return false
  const { protocol, hostname, port } = new URL(text)
  return /^rediss?:$/.test(protocol) && hostname !== '' && port !== '0'
}

/** Also for a text that URL cannot parse because of its port. */
function hasPortOutOfRange(text: string): boolean {
  const [, port] = /^rediss?:\/\/(?:[^@/]*@)?(?:\[[^\]]*\]|[^:/@]+):(\d+)(?:[/?#]|$)/.exec(text) ?? []
  return port !== undefined && !isPort(Number(port))
}

function schemeOf(url: string): string {
  return url.slice(0, url.indexOf('://') + 3)
}

function isPort(port: number): boolean {
  return port >= 1 && port <= 65_535
}
