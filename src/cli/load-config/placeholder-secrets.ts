import type { Interpolation } from '../../config/interpolate.ts'
import type { Located } from '../../config/located.ts'

const REFERENCE = /^\$\{(env|file):([^}]+)\}$/

/** Values for references that lead nowhere here, such that the file can be read all the same. */
export function standIns(
  root: Located | undefined,
  { env, readFile }: Pick<Interpolation, 'env' | 'readFile'>,
): Pick<Interpolation, 'env' | 'readFile'> & { placeholders: ReadonlySet<string> } {
  const values = new Map<string, string>()
  const typeOf = (sink: unknown) =>
    root?.entries?.get('sinks')?.value.entries?.get(String(sink))?.value.entries
  for (const { path, written } of referencesIn(root, [])) {
    const type = path[0] === 'sinks' ? typeOf(path[1])?.get('type')?.value.value : undefined
    values.set(written, standInFor(path, type))
  }
  const added: NodeJS.ProcessEnv = {}
  for (const [written, value] of values) {
    const [, source, name = ''] = REFERENCE.exec(written) ?? []
    if (source === 'env') added[name] = value
  }
  return {
    placeholders: new Set(values.values()),
    env: { ...added, ...env },
    readFile(path) {
      try {
        return readFile(path)
      } catch (error) {
        const value = [...values].find(([written]) => path.endsWith(written.slice('${file:'.length, -1)))?.[1]
        if (value === undefined || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
        return value
      }
    },
  }
}

function* referencesIn(
  at: Located | undefined,
  path: readonly string[],
): Generator<{ path: readonly string[]; written: string }> {
  if (!at) return
  if (at.written !== undefined && REFERENCE.test(at.written)) yield { path, written: at.written }
  for (const [key, { value }] of at.entries ?? []) yield* referencesIn(value, [...path, key])
  for (const [index, item] of (at.items ?? []).entries()) yield* referencesIn(item, [...path, String(index)])
}

/** What is taken at this place; nothing is ever sent there. */
function standInFor(path: readonly string[], sinkType: unknown): string {
  const key = path.findLast((step) => !/^\d+$/.test(step)) ?? ''
  if (path[0] === 'redis' && key === 'url') return 'redis://stand-in.invalid:6379'
  if (path[0] === 'cluster') return 'stand-in'
  if (path[0] === 'server' && key === 'port') return '0'
  if (/url$/i.test(key)) return 'https://stand-in.invalid/stand-in-for-a-url'
  if (path.at(-2) === 'tls' && /^(ca|cert|key)$/.test(key)) return key === 'key' ? PRIVATE_KEY : CERTIFICATE
  if (key === 'brokers') return 'stand-in.invalid:9092'
  if (key === 'path') return '/stand-in'
  if (sinkType === 'slack') return key === 'token' ? 'xoxb-stand-in-stand-in' : '#stand-in'
  if (key === 'secret') return `whsec_${Buffer.alloc(32).toString('base64')}`
  return STAND_IN
}

const STAND_IN = 'stand-in'

/** A certificate and its key that nobody trusts and no server has: what takes PEM checks that it is PEM. */
const CERTIFICATE = pem(
  'CERTIFICATE',
  'MIIBkzCCATmgAwIBAgIULJh76fl+pyUHYT06Lb3bAkB1zaswCgYIKoZIzj0EAwIwHjEcMBoGA1UEAwwTcGxhY2Vob2xkZXIu' +
    'aW52YWxpZDAgFw0yNjExMjIxMTAyMDRaGA8yMTI2MTAyOTExMDIwNFowHjEcMBoGA1UEAwwTcGxhY2Vob2xkZXIuaW52YWxp' +
    'ZDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABFdTzqe11k9QE8BeZq8QHmAQwGHZ4+2Q7u5A8IIS8aJR/k0Lwv0PU/X6kte0' +
    'slOnsWOQRVMYg82pHrQJX7KOpxSjUzBRMB0GA1UdDgQWBBS+d8JStrCzIgc1qofY0TUrZX/nbDAfBgNVHSMEGDAWgBS+d8JS' +
    'trCzIgc1qofY0TUrZX/nbDAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQDXFgQ4x77TI5OLqGPdAlcQsHXD' +
    'yWUro6NBO9FOXd+d5AIgMxJbHmiASRbD6EW/NUez95ZxJ+ceeXoBxPj6GArG1fY=',
)
const PRIVATE_KEY = pem(
  'PRIVATE KEY',
  'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgEPkmV71SHkqLN+F2PzeoxlVKJR0yyu+j/qsCZjRfVrihRANC' +
    'AARXU86ntdZPUBPAXmavEB5gEMBh2ePtkO7uQPCCEvGiUf5NC8L9D1P1+pLXtLJTp7FjkEVTGIPNqR60CV+yjqcU',
)

function pem(label: string, base64: string): string {
  return `-----BEGIN ${label}-----\n${base64}\n-----END ${label}-----\n`
}
