import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import * as z from 'zod'

/** PEM texts. `ca` replaces the authorities that Node trusts. */
export interface TlsOptions {
  ca?: string | undefined
  cert?: string | undefined
  key?: string | undefined
  /** The name that the receiver's certificate must have, where it is not the URL's. */
  servername?: string | undefined
}

const BEGIN = '-----BEGIN CERTIFICATE-----'
const END = '-----END CERTIFICATE-----'

/** Returns a zod schema of TLS options; `folder` is the place of the files in its hints. */
export function tlsOptions(folder = '/etc/tls') {
  const certificates = pemText((pem) => certificatesFault(pem, `${folder}/ca.crt`))
  const privateKey = pemText((pem) => privateKeyFault(pem, `${folder}/tls.key`))
  return z
    .strictObject({
      ca: certificates.optional().meta({ description: 'Certificates of authorities, as PEM text.' }),
      cert: certificates.optional().meta({ description: 'The own certificate, as PEM text.' }),
      key: privateKey.optional().meta({ description: 'Its key, as PEM text.' }),
      servername: z
        .string()
        .regex(/^(?=.*[A-Za-z])[A-Za-z0-9_.-]+$/, 'must be a host name; addresses are no names in TLS')
        .optional()
        .meta({ description: 'The name that the certificate of the other side must have.' }),
    })
    .superRefine(({ cert, key }, context) => {
      const refuse = (path: 'cert' | 'key', message: string) =>
        context.addIssue({ code: 'custom', path: [path], message })
      if (cert !== undefined && key === undefined) refuse('cert', 'needs key, too')
      else if (key !== undefined && cert === undefined) refuse('key', 'needs cert, too')
      else if (cert !== undefined && key !== undefined && !belongTogether(cert, key))
        refuse('key', 'is not the key of cert')
    })
}

function pemText(faultOf: (pem: string) => string | undefined) {
  return z.string().superRefine((pem, context) => {
    const message = faultOf(pem)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
}

/** The certificates of a PEM text, each from its first line to its last. In linear time. */
function certificatesIn(pem: string): string[] {
  const found: string[] = []
  for (let begin = pem.indexOf(BEGIN); begin >= 0; begin = pem.indexOf(BEGIN, begin)) {
    const end = pem.indexOf(END, begin)
    if (end < 0) break
    found.push(pem.slice(begin, end + END.length))
    begin = end
  }
  return found
}

function certificatesFault(pem: string, example: string): string | undefined {
  const found = certificatesIn(pem)
  if (found.length > 0 && found.every(certificateOf)) return undefined
  const fault = found.length > 0 ? 'has a certificate that cannot be read' : 'has no certificate'
  return `${fault}; must be PEM text, such as \${file:${example}}`
}

function privateKeyFault(pem: string, example: string): string | undefined {
  if (privateKeyOf(pem)) return undefined
  return /ENCRYPTED/.test(pem)
    ? 'is encrypted; decrypt it: openssl pkey -in tls.key -out plain.key'
    : `is not a private key; must be PEM text, such as \${file:${example}}`
}

/** An unreadable certificate or key is reported separately. */
function belongTogether(cert: string, key: string): boolean {
  const [certificate, privateKey] = [certificateOf(cert), privateKeyOf(key)]
  return !certificate || !privateKey || certificate.checkPrivateKey(privateKey)
}

function certificateOf(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

function privateKeyOf(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}
