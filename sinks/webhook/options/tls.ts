import { createPrivateKey, X509Certificate } from 'node:crypto'
import * as z from 'zod'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

const Certificates = z.string().superRefine((text, context) => {
  const found = text.match(CERTIFICATE) ?? []
  const message = found.length > 0 ? found.map(certificateFault).find(Boolean) : 'holds no certificate'
  if (message) context.addIssue({ code: 'custom', message: `${message}; ${PEM_RULE}` })
})

const PEM_RULE = `must be PEM text, such as \${file:/etc/tls/ca.crt}`

const PrivateKey = z.string().superRefine((text, context) => {
  try {
    createPrivateKey(text)
  } catch {
    const encrypted = /ENCRYPTED/.test(text)
    const message = encrypted
      ? 'is encrypted; decrypt it: openssl pkey -in tls.key -out plain.key'
      : `is no private key; must be PEM text, such as \${file:/etc/tls/tls.key}`
    context.addIssue({ code: 'custom', message })
  }
})

/** Whom to believe, and who we are. PEM texts; kept up to date by whoever reads the files. */
export const Tls = z
  .strictObject({
    ca: Certificates.optional(),
    cert: Certificates.optional(),
    key: PrivateKey.optional(),
    servername: z
      .string()
      .regex(/^[A-Za-z0-9.-]+$/, 'must be a host name')
      .optional(),
  })
  .superRefine(({ cert, key }, context) => {
    if ((cert === undefined) !== (key === undefined)) {
      const [there, missing] = cert === undefined ? ['key', 'cert'] : ['cert', 'key']
      context.addIssue({ code: 'custom', path: [there], message: `needs ${missing} beside it` })
    } else if (cert !== undefined && key !== undefined && !belongTogether(cert, key))
      context.addIssue({ code: 'custom', path: ['key'], message: 'is not the key of cert' })
  })

function certificateFault(pem: string): string | undefined {
  try {
    new X509Certificate(pem)
    return undefined
  } catch {
    return 'holds a certificate that cannot be read'
  }
}

function belongTogether(cert: string, key: string): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
  } catch {
    return true
  }
}
