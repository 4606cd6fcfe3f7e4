import * as z from 'zod'
import { compileTemplate, isForbiddenHost, type Template } from '../../src/sink/index.ts'

/** Where requests go. With a template path and query differ from message to message; scheme, host and port never. */
export interface Endpoint {
  base: URL
  template: Template | undefined
}

/** Everything up to the path or query. */
const ORIGIN = /^https?:\/\/[^/?#\\]+(?=[/?])/i

const URL_RULE = 'must be an http:// or https:// URL, such as https://example.com/hook'

export const HttpUrl = z
  .string()
  .refine(isHttpUrl, URL_RULE)
  .transform((url) => new URL(url))

export const EndpointUrl = z.string().transform((text, context): Endpoint => {
  const issue = (message: string, params: object = {}) => {
    context.addIssue({ code: 'custom', message, params })
    return z.NEVER
  }
  const at = text.search(/\{[{%]/)
  if (at < 0) return isHttpUrl(text) ? { base: new URL(text), template: undefined } : issue(URL_RULE)
  const origin = ORIGIN.exec(text)?.[0]
  if (origin === undefined || origin.length > at || !isHttpUrl(origin))
    return issue('may have templates in its path and query only: scheme, host and port are fixed')
  if (text.includes('#')) return issue('must have no "#" in a template: it is not sent')
  const compiled = compileTemplate(text.slice(origin.length), { escape: percentEncoded })
  if (compiled.ok) return { base: new URL(origin), template: compiled.template }
  for (const { message, offset, length, hint } of compiled.problems)
    issue(message, { offset: offset + origin.length, length, hint })
  return z.NEVER
})

/** Returns whether a host is link-local or a metadata service; undefined URLs are not. */
export function isGuarded(url: URL | undefined): boolean {
  return url !== undefined && isForbiddenHost(url.hostname)
}

function percentEncoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'proxy-connection',
  'proxy-authorization',
]
const OURS = [
  'host',
  'content-length',
  'content-encoding',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
]

/** One line of text, valid as a header's value. */
const HeaderValue = z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be one line of text')

/** A header is the same in each request. */
const FixedHeaderValue = HeaderValue.refine(
  (text) => !hasPair(text, '{{', '}}') && !hasPair(text, '{%', '%}'),
  {
    message: 'is a fixed text: a template would be sent unchanged',
    params: { hint: 'url and body may have templates' },
  },
)

function hasPair(text: string, begin: string, end: string): boolean {
  const at = text.indexOf(begin)
  return at !== -1 && text.includes(end, at)
}

/** A token or key, valid in a header. */
export const Credential = z.string().regex(/^[\x21-\x7e]+$/, 'must be one line of text without spaces')

export const MediaType = z
  .string()
  .regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;[\t\x20-\x7e]*)?$/, 'must be a media type, such as text/plain')

const HeaderName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'is not a header name')
  .refine((name) => !isOurs(name.toLowerCase()), 'is set by kubeherald itself')
  .refine((name) => name.toLowerCase() !== 'content-type', 'is set by the format; see contentType')

function isOurs(name: string): boolean {
  return HOP_BY_HOP.includes(name) || OURS.includes(name) || name.startsWith('ce-')
}

export const Headers = z
  .record(HeaderName, FixedHeaderValue.meta({ description: 'A text.' }))
  .superRefine((headers, context) => {
    const names = Object.keys(headers)
    for (const [i, name] of names.entries()) {
      const same = names.slice(0, i).find((it) => it.toLowerCase() === name.toLowerCase())
      if (same === undefined) continue
      context.addIssue({ code: 'custom', path: [name], message: `is "${same}" again; keep one of the two` })
    }
  })
  .default({})

/** Client credentials of OAuth 2.0 (RFC 6749 §4.4). */
const OAuth2 = z.strictObject({
  tokenUrl: HttpUrl.meta({ description: 'Where tokens come from.' }),
  clientId: HeaderValue.min(1).meta({ description: 'Who asks there.' }),
  clientSecret: HeaderValue.min(1).meta({ description: 'Who asks there.' }),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be one word'))
    .default([])
    .meta({ description: 'What for.' }),
  audience: z.string().min(1).optional().meta({ description: 'For whom.' }),
  /** The client authentication at the token endpoint: Basic authorization, or fields of the form. */
  clientAuthentication: z
    .enum(['basic', 'body'])
    .default('basic')
    .meta({ description: 'How the client shows who it is there.' }),
})

export const Auth = z
  .strictObject({
    basic: z
      .strictObject({
        username: z
          .string()
          .regex(/^[^\x00-\x1f\x7f:]*$/, 'must be one line of text without ":"')
          .meta({ description: 'The user.' }),
        password: z
          .string()
          .regex(/^[^\x00-\x1f\x7f]*$/, 'must be one line of text')
          .meta({ description: 'The password.' }),
      })
      .optional()
      .meta({ description: 'By user and password.' }),
    bearer: Credential.optional().meta({ description: 'By a token.' }),
    oauth2: OAuth2.optional().meta({
      description: 'By tokens that are fetched (OAuth 2.0, client credentials).',
    }),
  })
  .refine((auth) => Object.values(auth).filter((it) => it !== undefined).length === 1, {
    message: 'must have one of basic, bearer and oauth2',
  })

export type Auth = z.output<typeof Auth>
export type OAuth2 = z.output<typeof OAuth2>
