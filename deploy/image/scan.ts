// node deploy/image/scan.ts IMAGE.tar   What is in an image that should not be: `docker export CONTAINER > IMAGE.tar`.
// Exit code 0: nothing. 1: each finding on a line of its own.
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { entriesOf, type TarEntry } from './tar.ts'

const USER = 65532
/** For everybody, by their nature. A read-only root takes them away too. */
const SHARED = /^(tmp|var\/tmp|run\/lock|var\/lock)\/?$/
/** What is ours; the base is known by its digest. */
const OURS = /^app\//
const MAX_BYTES = 120 * 1024 * 1024
const TEXT_BYTES = 8 * 1024 * 1024

const SECRETS: readonly [what: string, pattern: RegExp][] = [
  ['a private key', /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\r?\n[A-Za-z0-9+/=]{16}/],
  ['a token of npm', /\bnpm_[A-Za-z0-9]{36}\b|:_authToken\s*=\s*\S/],
  ['a token of GitHub', /\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60})/],
  ['a token of Slack', /\bxox[abposr]-[0-9]{8,}-[A-Za-z0-9-]{10,}/],
  ['a key of AWS', /\bAKIA[0-9A-Z]{16}\b/],
  ['a token of a service account', /\beyJhbGciOi[\w-]+\.eyJ[\w-]+\.[\w-]{20,}/],
]
const SECRET_FILES =
  /(^|\/)(\.npmrc|\.env[^/]*|\.netrc|\.docker\/config\.json|\.git\/|id_(rsa|ed25519)|kubeconfig[^/]*)$/

/** The findings of a file system, each in words. `devDependencies`: names of packages that must not be in it. */
export function findings(entries: readonly TarEntry[], devDependencies: readonly string[] = []): string[] {
  const found = entries.flatMap((entry) => [...ofMode(entry), ...ofContent(entry)])
  const bytes = entries.filter(({ path }) => OURS.test(path)).reduce((sum, { size }) => sum + size, 0)
  if (bytes > MAX_BYTES) found.push(`app: ${bytes} bytes, more than ${MAX_BYTES}`)
  const licences =
    entries.find(({ path }) => path === 'app/THIRD_PARTY_LICENSES.txt')?.content?.toString() ?? ''
  for (const name of devDependencies)
    if (licences.includes(`\n---- ${name} `)) found.push(`app: bundles ${name}, which is for development`)
  for (const { path } of entries)
    if (/(^|\/)node_modules\/./.test(path)) found.push(`${path}: a package beside the bundle`)
  return found
}

function ofMode({ path, type, mode, uid, gid }: TarEntry): string[] {
  if (type === 'link') return []
  const found: string[] = []
  if (type === 'file' && (mode & 0o6000) !== 0) found.push(`${path}: setuid or setgid (${mode.toString(8)})`)
  const own = (uid === USER && (mode & 0o200) !== 0) || (gid === USER && (mode & 0o020) !== 0)
  if ((own || (mode & 0o002) !== 0) && type !== 'device' && !SHARED.test(path))
    found.push(`${path || '/'}: user ${USER} may write to it (${mode.toString(8)}, of ${uid}:${gid})`)
  return found
}

function ofContent({ path, type, content }: TarEntry): string[] {
  if (type !== 'file') return []
  if (SECRET_FILES.test(path)) return [`${path}: a file that holds secrets`]
  if (!content || content.length > TEXT_BYTES || content.includes(0)) return []
  const text = content.toString('latin1')
  return SECRETS.filter(([, pattern]) => pattern.test(text)).map(([what]) => `${path}: ${what}`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const entries = entriesOf(readFileSync(process.argv[2] ?? 0))
  const found = findings(entries, Object.keys(manifest.devDependencies))
  const ours = entries.filter(({ path }) => OURS.test(path))
  const mib = (list: readonly TarEntry[]) =>
    (list.reduce((sum, { size }) => sum + size, 0) / 1024 / 1024).toFixed(1)
  for (const line of found) console.error(line)
  console.log(
    `${entries.length} files, ${mib(entries)} MiB, ${mib(ours)} MiB of them kubeherald; ${found.length} findings`,
  )
  process.exitCode = found.length === 0 ? 0 : 1
}
