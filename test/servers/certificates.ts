import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** A certificate with its key, both PEM. */
export interface Certificate {
  cert: string
  key: string
}

/** A certificate authority of a test's own. */
export interface Authority {
  readonly cert: string
  /** A certificate for 127.0.0.1 and `name`, good for servers and clients. */
  issue(name: string, group?: string, validity?: { expired?: boolean }): Certificate
}

/** Node reads certificates and makes none, and not every machine has openssl; so this writes their DER. */
export function createAuthority(name: string): Authority {
  const issuer = distinguishedName(name)
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const isAuthority = extension('551d13', sequence(Buffer.from('0101ff', 'hex')))
  const cert = certificate(issuer, issuer, own.publicKey, own.privateKey, isAuthority)
  return {
    cert,
    issue(subject, group, { expired } = {}) {
      const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const loopback = extension('551d11', sequence(Buffer.from('87047f000001', 'hex')))
      return {
        cert: certificate(
          issuer,
          distinguishedName(subject, group),
          keys.publicKey,
          own.privateKey,
          loopback,
          expired ? -DAY_MS / 2 : DAY_MS,
        ),
        key: String(keys.privateKey.export({ type: 'pkcs8', format: 'pem' })),
      }
    },
  }
}

const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'))
const DAY_MS = 86_400_000

function certificate(
  issuer: Buffer,
  subject: Buffer,
  publicKey: KeyObject,
  signer: KeyObject,
  extra: Buffer,
  endsInMs = DAY_MS,
): string {
  const time = (ms: number) =>
    der(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`))
  const serial = Buffer.concat([Buffer.of(1), randomBytes(8)])
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, serial),
    ECDSA_WITH_SHA256,
    issuer,
    sequence(time(Date.now() - DAY_MS), time(Date.now() + endsInMs)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extra, keyIdentifier(publicKey))),
  )
  const signature = der(0x03, Buffer.concat([Buffer.of(0), sign('sha256', body, signer)]))
  const base64 = sequence(body, ECDSA_WITH_SHA256, signature).toString('base64')
  // An empty line would make it unreadable.
  const lines = base64.match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

function distinguishedName(name: string, group?: string): Buffer {
  const part = (type: string, value: string) => der(0x31, sequence(oid(type), der(0x0c, Buffer.from(value))))
  return sequence(...(group === undefined ? [] : [part('55040a', group)]), part('550403', name))
}

function keyIdentifier(publicKey: KeyObject): Buffer {
  const bytes = publicKey.export({ type: 'spki', format: 'der' })
  return extension('551d0e', der(0x04, createHash('sha1').update(bytes).digest()))
}

function extension(type: string, value: Buffer): Buffer {
  return sequence(oid(type), der(0x04, value))
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'))
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  if (length < 128) return Buffer.concat([Buffer.of(tag, length), content])
  const size = length < 256 ? Buffer.of(0x81, length) : Buffer.of(0x82, length >> 8, length & 255)
  return Buffer.concat([Buffer.of(tag), size, content])
}
