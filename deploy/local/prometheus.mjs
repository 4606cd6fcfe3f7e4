// Unpacks promtool and prometheus from Debian's package into the user's cache folder, once. Installing the package would
// start a daemon that listens on all addresses.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { cacheFolder, fillFolder } from './cache.mjs'
import { runProgram } from './program.mjs'

const PROGRAMS = ['promtool', 'prometheus']
const FOLDER = cacheFolder('prometheus')
const BIN = join(FOLDER, 'usr', 'bin')

export function hasPrometheus() {
  const dirs = [...(process.env.PATH ?? '').split(delimiter), BIN]
  return PROGRAMS.every((name) => dirs.some((dir) => isProgram(join(dir, name))))
}

/** Gets both where that is possible without asking; `missingSuites` says how suites end without them. */
export async function preparePrometheus({ say, missingSuites }) {
  if (hasPrometheus()) return
  const why = await get(say)
  if (why !== undefined)
    say(`promtool and prometheus are not there: ${why}. Suites that need them ${missingSuites}`)
}

/** Why it could not. */
async function get(say) {
  if (isThere('brew')) {
    say('installing prometheus (Homebrew) …')
    return run('brew', ['install', 'prometheus'])
  }
  if (!isThere('apt-get') || !isThere('dpkg-deb')) return 'there is no apt-get'
  let why
  await fillFolder(FOLDER, { say, doing: 'fetches Prometheus' }, async () => {
    if (hasPrometheus()) return
    say('fetching Prometheus for the tests (apt-get download, 20 MB, once) …')
    why = await unpack()
  })
  return why
}

async function unpack() {
  const half = join(FOLDER, `.half.${process.pid}`)
  try {
    mkdirSync(half, { recursive: true })
    if (process.getuid?.() === 0) await run('apt-get', ['update', '-qq'])
    const failed = await run('apt-get', ['download', '-qq', 'prometheus'], half)
    if (failed !== undefined) return failed
    const file = readdirSync(half).find((name) => name.endsWith('.deb'))
    if (file === undefined) return 'apt-get download gave no package'
    const unpacked = await run('dpkg-deb', ['-x', file, 'unpacked'], half)
    if (unpacked !== undefined) return unpacked
    rmSync(join(FOLDER, 'usr'), { recursive: true, force: true })
    renameSync(join(half, 'unpacked', 'usr'), join(FOLDER, 'usr'))
  } finally {
    rmSync(half, { recursive: true, force: true })
  }
}

async function run(command, args, cwd) {
  const { code } = await runProgram(command, args, { cwd, stdio: 'ignore' })
  return code === 0 ? undefined : `${command} ${args.join(' ')} failed`
}

function isThere(name) {
  return spawnSync('which', [name], { stdio: 'ignore' }).status === 0
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
