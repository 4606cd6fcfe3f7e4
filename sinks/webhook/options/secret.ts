import * as z from 'zod'

/** `whsec_` and base64 of 24 to 64 bytes, as Standard Webhooks 1.0.0 wants. */
const Secret = z
  .string()
  .refine(
    isSecret,
    'must be "whsec_" and base64 of 24 to 64 bytes; this makes one: echo "whsec_$(openssl rand -base64 32)"',
  )

/** Signs every request. Of several, receivers may accept any: that is how a secret is rotated. */
export const Secrets = z
  .union([Secret.transform((it) => [it]), z.array(Secret).min(1)])
  .optional()
  .transform((it) => it ?? [])

function isSecret(text: string): boolean {
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1]
  const { length } = Buffer.from(base64 ?? '', 'base64')
  return length >= 24 && length <= 64
}
