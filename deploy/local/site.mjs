// VitePress, which builds the site of the documentation: in a package of its own, so that a clone without it starts faster.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runProgram } from './program.mjs'

export const SITE = fileURLToPath(new URL('../../docs/.vitepress', import.meta.url))
const STAMP = join(SITE, 'node_modules', '.kubeherald-setup')

export function hasSiteBuilder() {
  return existsSync(STAMP) && readFileSync(STAMP, 'utf8') === lockDigest()
}

/** Installs what is missing, once for each version of the lock file. Throws when the registry cannot be reached. */
export async function installSiteBuilder(say) {
  if (hasSiteBuilder()) return
  say('installing VitePress for the documentation (npm ci, about half a minute, once) …')
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error']
  const { code } = await runProgram('npm', args, { cwd: SITE, stdio: ['ignore', 'ignore', 'inherit'] })
  if (code !== 0) throw new Error('npm ci failed in docs/.vitepress: is the npm registry reachable?')
  writeFileSync(STAMP, lockDigest())
}

function lockDigest() {
  return createHash('sha256')
    .update(readFileSync(join(SITE, 'package-lock.json')))
    .digest('hex')
}
