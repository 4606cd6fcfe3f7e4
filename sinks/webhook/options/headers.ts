import * as z from 'zod'

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

/** One line, as it can stand in a header. */
export const HeaderValue = z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be one line of text')

/** What may stand in a header beside its name: a token, a key. */
export const Credential = z.string().regex(/^[\x21-\x7e]+$/, 'must be one line of text without spaces')

export const MediaType = z
  .string()
  .regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;[\t\x20-\x7e]*)?$/, 'must be a media type, such as text/plain')

const HeaderName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'is no header name')
  .refine((name) => !isOurs(name.toLowerCase()), 'is set by kubeherald itself')
  .refine((name) => name.toLowerCase() !== 'content-type', 'is set by the format; see contentType')

function isOurs(name: string): boolean {
  return HOP_BY_HOP.includes(name) || OURS.includes(name) || name.startsWith('ce-')
}

export const Headers = z
  .record(HeaderName, HeaderValue.meta({ description: 'A text.' }))
  .superRefine((headers, context) => {
    const names = Object.keys(headers)
    for (const [i, name] of names.entries()) {
      const same = names.slice(0, i).find((it) => it.toLowerCase() === name.toLowerCase())
      if (same === undefined) continue
      context.addIssue({ code: 'custom', path: [name], message: `is "${same}" again; keep one of the two` })
    }
  })
  .default({})
