import { dirname, resolve } from 'node:path'
import type { Located } from '../../config/source-node.ts'
import type { Interpolation } from '../../config/values/interpolate.ts'
import { allSinks } from '../../sink-types.ts'

const REFERENCE = /^\$\{(env|file):([^}]+)\}$/

type Sources = Pick<Interpolation, 'env' | 'readFile'>

/** Adds placeholders for missing variables and files, so that a configuration can be read without its secrets. */
export async function fillPlaceholders(
  root: Located | undefined,
  { env, readFile }: Sources,
): Promise<Sources & { placeholders: ReadonlySet<string> }> {
  const values = new Map<string, string>()
  for (const { path, written } of referencesIn(root, [])) {
    const value = await placeholderFor(path, root)
    // Of two options with the same reference, one may take any text.
    if (value !== PLACEHOLDER || !values.has(written)) values.set(written, value)
  }
  const added: NodeJS.ProcessEnv = {}
  const files = new Map<string, string>()
  const folder = dirname(resolve(root?.file.name ?? ''))
  for (const [written, value] of values) {
    const [, source, name = ''] = REFERENCE.exec(written) ?? []
    if (source === 'env') added[name] = value
    else files.set(resolve(folder, name), value)
  }
  return {
    placeholders: new Set(values.values()),
    env: { ...added, ...env },
    readFile(path) {
      try {
        return readFile(path)
      } catch (error) {
        const value = files.get(resolve(folder, path))
        if (value === undefined || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
        return value
      }
    },
  }
}

type Path = readonly string[]

function* referencesIn(at: Located | undefined, path: Path): Generator<{ path: Path; written: string }> {
  if (!at) return
  if (at.written !== undefined && REFERENCE.test(at.written)) yield { path, written: at.written }
  for (const [key, { value }] of at.entries ?? []) yield* referencesIn(value, [...path, key])
  for (const [index, item] of (at.items ?? []).entries()) yield* referencesIn(item, [...path, String(index)])
}

/** Replaces a missing secret whose form is free. It is masked in what is printed: no object's data may contain it. */
export const PLACEHOLDER = 'kubeherald-placeholder'

/** Forms that options of plug-ins often have. */
const PLUGIN_PLACEHOLDERS: Readonly<Record<string, string>> = {
  brokers: `${PLACEHOLDER}.invalid:9092`,
  path: `/${PLACEHOLDER}`,
  secret: `whsec_${Buffer.alloc(32).toString('base64')}`,
}

async function placeholderFor(path: Path, root: Located | undefined): Promise<string> {
  const key = path.findLast((step) => !/^\d+$/.test(step)) ?? ''
  if (path[0] === 'redis' && key === 'url') return `redis://${PLACEHOLDER}.invalid:6379`
  if (path[0] === 'server' && key === 'port') return '0'
  if (path.at(-2) === 'tls' && /^(cert|key)$/.test(key)) return key === 'key' ? PRIVATE_KEY : CERTIFICATE
  // Not at any depth: a header has any name.
  const isOption = /^(tls|sasl)$/.test(path.at(-2) ?? '') || (path[0] === 'sinks' && path.length === 3)
  if (isOption && /^(ca|[a-z]+Ca)$/.test(key)) return CERTIFICATE
  const ofType = path[0] === 'sinks' ? await placeholdersOf(path[1], root) : {}
  if (Object.hasOwn(ofType, key)) return ofType[key] as string
  return /^proxy$|url$/i.test(key) ? `https://${PLACEHOLDER}.invalid/placeholder-for-a-url` : PLACEHOLDER
}

/** Plug-ins are loaded later: for them common forms must do. */
async function placeholdersOf(sink: string | undefined, root: Located | undefined) {
  const section = root?.entries?.get('sinks')?.value.entries?.get(String(sink))?.value.entries
  const [type, preset] = ['type', 'preset'].map((key) => String(section?.get(key)?.value.value))
  if (!isBuiltIn(type)) return PLUGIN_PLACEHOLDERS
  return (await allSinks[isBuiltIn(preset) ? preset : type]()).placeholders ?? {}
}

function isBuiltIn(type: string | undefined): type is keyof typeof allSinks {
  return type !== undefined && Object.hasOwn(allSinks, type)
}

/** A certificate and its key of no server, because PEM is checked. */
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
