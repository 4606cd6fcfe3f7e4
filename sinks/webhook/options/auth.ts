import * as z from 'zod'
import { Credential, HeaderValue } from './headers.ts'
import { HttpUrl } from './url.ts'

/** Client credentials of OAuth 2.0 (RFC 6749 §4.4). */
const OAuth2 = z.strictObject({
  tokenUrl: HttpUrl,
  clientId: HeaderValue.min(1),
  clientSecret: HeaderValue.min(1),
  scopes: z.array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be one word')).default([]),
  audience: z.string().min(1).optional(),
  /** How the token endpoint learns who asks: Basic authorization, or fields of the form. */
  clientAuthentication: z.enum(['basic', 'body']).default('basic'),
})

export const Auth = z
  .strictObject({
    basic: z
      .strictObject({
        username: z.string().regex(/^[^\x00-\x1f\x7f:]*$/, 'must be one line of text without ":"'),
        password: z.string().regex(/^[^\x00-\x1f\x7f]*$/, 'must be one line of text'),
      })
      .optional(),
    bearer: Credential.optional(),
    oauth2: OAuth2.optional(),
  })
  .refine((auth) => Object.values(auth).filter((it) => it !== undefined).length === 1, {
    message: 'must have one of basic, bearer and oauth2',
  })

export type Auth = z.output<typeof Auth>
export type OAuth2 = z.output<typeof OAuth2>
