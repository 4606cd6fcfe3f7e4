import { isIP, isIPv4 } from 'node:net'
import * as z from 'zod'

const PORT_RULE = 'must be a port from 1 to 65535, or 0 for any free one'

const isPort = (port: number) => Number.isInteger(port) && port >= 0 && port <= 65_535

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

const MIN_TOKEN = 16
const Namespace = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'is not a name of a namespace, such as shop')

const Token = z.strictObject({
  name: z
    .string()
    .regex(/^[\w.@-]{1,63}$/, 'is not a name: use letters, digits, "_", "-", "." and "@", at most 63')
    .meta({ description: 'Who uses it, as the log of actions names it.', examples: ['ci'] }),
  role: z
    .enum(['read', 'act'])
    .default('read')
    .meta({ description: 'read, or act: retry, drop, silence, acknowledge; default: read.' }),
  token: z
    .string()
    .min(
      MIN_TOKEN,
      `is too short: a token has at least ${MIN_TOKEN} characters, such as those of "openssl rand -hex 32"`,
    )
    .max(4_096, 'is longer than 4096 characters')
    .regex(/^[\x21-\x7e]+$/, 'must not have spaces or characters beyond ASCII')
    .meta({ description: 'The secret itself.', examples: [`\${env:API_TOKEN}`] }),
  namespaces: z
    .array(Namespace)
    .min(1, 'is an empty list: leave it out for all namespaces')
    .optional()
    .meta({ description: 'Only what is in these namespaces; default: everything.', examples: [['shop']] }),
})

const HeaderName = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,100}$/, 'is not a name of a header, such as X-Forwarded-User')

const ADDRESS_RULE = 'must be an address or a range of addresses, such as 10.0.0.7 or 10.0.0.0/8'

function isAddressRange(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  if (isIP(address) === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (isIPv4(address) ? 32 : 128))
}

const AuthProxy = z
  .strictObject({
    userHeader: HeaderName.meta({
      description: 'The header that has the name of the user.',
      examples: ['X-Forwarded-User'],
    }),
    groupsHeader: HeaderName.optional().meta({
      description: 'The header that has the groups of the user, with commas.',
      examples: ['X-Forwarded-Groups'],
    }),
    actGroups: z
      .array(z.string().min(1, 'is empty'))
      .min(1, 'is an empty list: leave it out, and users may only read')
      .optional()
      .meta({ description: 'Groups that have the role act; others may read.', examples: [['sre']] }),
    trust: z
      .array(z.string().refine(isAddressRange, ADDRESS_RULE))
      .min(1, 'is an empty list: name the addresses of the proxy')
      .meta({
        description: 'Addresses of the proxy: from others the headers count for nothing.',
        examples: [['10.0.0.0/8']],
      }),
  })
  .refine(({ actGroups, groupsHeader }) => actGroups === undefined || groupsHeader !== undefined, {
    path: ['actGroups'],
    error: 'needs "groupsHeader" in the same map',
  })

const HostName = z
  .string()
  .regex(
    /^([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/,
    'is not a name of a host, such as herald.example.com',
  )

/** The HTTP server: /livez, /readyz, /metrics, the page and /api/v1. */
export const Server = z
  .strictObject({
    host: z
      .string()
      .min(1, 'is empty: 127.0.0.1 is this machine, "::" all interfaces, 0.0.0.0 those of IPv4')
      .default('127.0.0.1')
      .meta({
        description:
          '127.0.0.1 for this machine (default), :: for all interfaces, 0.0.0.0 for those of IPv4.',
      }),
    port: Port.default(9464).meta({ description: '1 to 65535, or 0 for any free one; default: 9464.' }),
    tokens: z
      .array(Token)
      .min(1, 'is an empty list: leave it out')
      .optional()
      .meta({
        description: 'Who may use the page and the API; without tokens and proxy: this machine.',
        examples: [[{ name: 'ci', token: `\${env:API_TOKEN}` }]],
      }),
    proxy: AuthProxy.optional().meta({
      description: 'A proxy that signs users in, and names them in a header.',
      examples: [{ userHeader: 'X-Forwarded-User', trust: ['10.0.0.0/8'] }],
    }),
    hosts: z
      .array(HostName)
      .min(1, 'is an empty list: leave it out')
      .optional()
      .meta({ description: 'Names that browsers may use for the page.', examples: [['herald.example.com']] }),
  })
  .superRefine(({ tokens = [] }, context) => {
    const names = new Set<string>()
    for (const [index, { name }] of tokens.entries()) {
      if (names.has(name))
        context.addIssue({
          code: 'custom',
          path: ['tokens', index, 'name'],
          message: 'is the name of another token, too',
        })
      names.add(name)
    }
  })
