import * as z from 'zod'
import { Credential, HeaderValue } from './headers.ts'
import { HttpUrl } from './url.ts'

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
  /** How the token endpoint learns who asks: Basic authorization, or fields of the form. */
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
