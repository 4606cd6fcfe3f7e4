// Unpacks the mail server Exim from Debian's packages into the user's cache folder, once, for the tests of the email sink. Installing it
// would start a daemon. nss_wrapper gives it the user that it wants to be, so that neither root nor an entry in /etc/passwd is needed.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, fillFolder } from './cache.mjs'
import { runProgram } from './program.mjs'

const EXIM = cacheFolder('exim')
/** What a small Debian lacks; a package that is not there under this name is not needed there. */
const PACKAGES = [
  'exim4-daemon-light',
  'libnss-wrapper',
  'libidn12',
  'libgnutls-dane0',
  'libunbound8',
  'libdb5.3',
]

export function hasExim() {
  return existsSync(join(EXIM, 'usr', 'sbin', 'exim4'))
}

/** Gets it where that is possible without asking; `missingSuites` says how suites end without it. */
export async function prepareExim({ say, missingSuites }) {
  if (hasExim()) return
  const why = await get(say)
  if (why !== undefined)
    say(`the mail server Exim is not there: ${why}. Suites that need it ${missingSuites}`)
}

/** Why it could not. */
async function get(say) {
  if (!isThere('apt-get') || !isThere('dpkg-deb')) return 'there is no apt-get'
  let why
  await fillFolder(EXIM, { say, doing: 'fetches Exim' }, async () => {
    if (hasExim()) return
    say('fetching the mail server Exim for the tests (apt-get download, 3 MB, once) …')
    why = await unpack()
  })
  return why
}

async function unpack() {
  const half = join(EXIM, `.half.${process.pid}`)
  try {
    mkdirSync(half, { recursive: true })
    if (process.getuid?.() === 0) await run('apt-get', ['update', '-qq'])
    for (const name of PACKAGES) await run('apt-get', ['download', '-qq', name], half)
    for (const file of readdirSync(half).filter((name) => name.endsWith('.deb'))) {
      const failed = await run('dpkg-deb', ['-x', file, 'unpacked'], half)
      if (failed !== undefined) return failed
    }
    const program = join(half, 'unpacked', 'usr', 'sbin', 'exim4')
    if (!existsSync(program)) return 'apt-get download gave no package exim4-daemon-light'
    // The package makes it setuid root.
    chmodSync(program, 0o755)
    const missing = missingLibraries(program, join(half, 'unpacked'))
    if (missing) return `its library ${missing} is not on this machine`
    rmSync(join(EXIM, 'usr'), { recursive: true, force: true })
    renameSync(join(half, 'unpacked', 'usr'), join(EXIM, 'usr'))
  } finally {
    rmSync(half, { recursive: true, force: true })
  }
}

function missingLibraries(program, root) {
  const folder = readdirSync(join(root, 'usr', 'lib')).find((it) => it.endsWith('-linux-gnu'))
  const env = { ...process.env, LD_LIBRARY_PATH: join(root, 'usr', 'lib', folder ?? '') }
  return /^\s*(\S+) => not found/m.exec(
    spawnSync('ldd', [program], { env, encoding: 'utf8' }).stdout ?? '',
  )?.[1]
}

async function run(command, args, cwd) {
  const { code } = await runProgram(command, args, { cwd, stdio: 'ignore' })
  return code === 0 ? undefined : `${command} ${args.join(' ')} failed`
}

function isThere(name) {
  return spawnSync('which', [name], { stdio: 'ignore' }).status === 0
}
