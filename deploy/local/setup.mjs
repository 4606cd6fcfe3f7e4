// Brings a bare machine (Node 20 or newer, npm) to where kubeherald runs: dependencies, Node 24, redis-server, and for
// the tests kube-apiserver, etcd, Kafka and kcat. Without dependencies of its own. Silent when there is nothing to do.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fetchKafka, hasKafka } from './kafka.mjs'
import { buildKubernetes, hasKubernetes } from './kubernetes.mjs'
import { exitCodeOf, runProgram } from './program.mjs'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const NODE = join(ROOT, 'node_modules', 'node', 'bin', 'node')
const STAMP = join(ROOT, 'node_modules', '.kubeherald-setup')

/** A step that cannot be done; the message says what to type. */
class SetupError extends Error {}

/** Does what is missing. `tests`: also what only the tests need. Ends the process with a line when it cannot. */
export async function setUp({ tests = false } = {}) {
  try {
    await installDependencies()
    await installRedis()
    if (tests) await prepareKubernetes()
    if (tests) await prepareKafka()
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    say(error.message)
    process.exit(1)
  }
}

async function installDependencies() {
  const wanted = createHash('sha256')
    .update(readFileSync(join(ROOT, 'package-lock.json')))
    .digest('hex')
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted && existsSync(NODE)) return
  say('installing dependencies and Node 24 (npm ci, about a minute, once) …')
  await run(
    'npm',
    ['ci', '--no-audit', '--no-fund', '--loglevel', 'error', '--no-update-notifier'],
    'npm ci failed: is the npm registry reachable?',
  )
  const version = spawnSync(NODE, ['--version'], { encoding: 'utf8' }).stdout?.trim()
  if (!version?.startsWith('v24.')) {
    throw new SetupError(
      `Node 24 did not install (found ${version || 'nothing'}): install Node 24 and run: npm rebuild node`,
    )
  }
  writeFileSync(STAMP, wanted)
}

async function installRedis() {
  if (findProgram('redis-server') || findProgram('valkey-server')) return
  if (findProgram('apt-get') && process.getuid?.() === 0) {
    say('installing redis-server (apt-get) …')
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    await run('apt-get', ['update', '-qq'], 'apt-get update failed', { env })
    await run(
      'apt-get',
      ['install', '-y', '-qq', '--no-install-recommends', 'redis-server'],
      'apt-get install redis-server failed',
      { env },
    )
  } else if (findProgram('brew')) {
    say('installing redis (Homebrew) …')
    await run('brew', ['install', 'redis'], 'brew install redis failed')
  }
  if (findProgram('redis-server') || findProgram('valkey-server')) return
  const how = findProgram('apt-get')
    ? 'sudo apt-get install redis-server'
    : 'install redis-server or valkey-server with your package manager'
  throw new SetupError(`there is no redis-server on this machine. Type: ${how}`)
}

async function prepareKubernetes() {
  if (hasKubernetes()) return
  if (!findProgram('go')) {
    say('kube-apiserver is not there and cannot be built: there is no Go. Suites that need it are skipped')
    return
  }
  await buildKubernetes(say).catch((error) => {
    throw new SetupError(error.message)
  })
}

async function prepareKafka() {
  if (!findProgram('java')) {
    say('there is no Java on this machine. Suites that need Kafka are skipped')
    return
  }
  await installKcat()
  if (hasKafka()) return
  if (!findProgram('mvn')) {
    say('Kafka is not there and cannot be fetched: there is no Maven (mvn). Suites that need it are skipped')
    return
  }
  await fetchKafka(say).catch((error) => {
    throw new SetupError(error.message)
  })
}

/** An independent reader of what the tests write to Kafka. */
async function installKcat() {
  if (findProgram('kcat')) return
  if (findProgram('apt-get') && process.getuid?.() === 0) {
    say('installing kcat (apt-get) …')
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    await run('apt-get', ['update', '-qq'], 'apt-get update failed', { env })
    const install = ['install', '-y', '-qq', '--no-install-recommends', 'kcat']
    await run('apt-get', install, 'apt-get install kcat failed', { env })
  } else if (findProgram('brew')) {
    say('installing kcat (Homebrew) …')
    await run('brew', ['install', 'kcat'], 'brew install kcat failed')
  } else say('there is no kcat on this machine. Suites that need Kafka are skipped')
}

/** Runs a TypeScript file (or a program of node_modules) on Node 24; the exit code is its own. */
export async function runOnNode24(args, options = {}) {
  const { code, signal } = await runProgram(NODE, args, { cwd: ROOT, stdio: 'inherit', ...options })
  return code ?? exitCodeOf(signal)
}

function findProgram(name) {
  return (process.env.PATH ?? '').split(delimiter).some((dir) => {
    try {
      accessSync(join(dir, name), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

async function run(command, args, failure, options = {}) {
  const settings = { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'], ...options }
  const { code, signal } = await runProgram(command, args, settings).catch((error) => {
    throw new SetupError(`${failure} (${error.code})`)
  })
  if (signal) throw new SetupError(`${failure} (stopped by ${signal})`)
  if (code !== 0) throw new SetupError(`${failure} (exit code ${code})`)
}

function say(line) {
  process.stderr.write(`set-up: ${line}\n`)
}
