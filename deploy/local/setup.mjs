// Brings a bare machine (Node 20 or newer, npm) to where kubeherald runs: dependencies, Node 24, redis-server, and for
// the tests kube-apiserver, etcd, Kafka, kcat, Prometheus, Exim and Chromium. Without dependencies of its own. Silent when there is nothing to do.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildDeployTools, hasDeployTools } from './deploy-tools.mjs'
import { prepareExim } from './exim.mjs'
import { fetchKafka, hasKafka } from './kafka.mjs'
import { buildKubernetes, hasKubernetes } from './kubernetes.mjs'
import { exitCodeOf, runProgram } from './program.mjs'
import { preparePrometheus } from './prometheus.mjs'
import { installSiteBuilder } from './site.mjs'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const NODE = join(ROOT, 'node_modules', 'node', 'bin', 'node')
const STAMP = join(ROOT, 'node_modules', '.kubeherald-setup')

/** A step that cannot be done; the message says what to type. */
class SetupError extends Error {}

/** Does what is missing. `tests`: also what only the tests need; `site`: what builds the documentation. Ends the process with a line when it cannot. */
export async function setUp({ tests = false, site = false } = {}) {
  try {
    // Downloads and builds side by side; apt-get locks, so that its steps come one after the other.
    await Promise.all([
      installDependencies(),
      installPrograms({ tests }),
      ...(tests ? [prepareKubernetes(), prepareDeployTools()] : []),
      ...(tests || site ? [prepareSite({ isNeeded: site })] : []),
    ])
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

async function installPrograms({ tests }) {
  await installRedis()
  if (!tests) return
  await preparePrometheus({ say, missingSuites: missingSuites() })
  await prepareExim({ say, missingSuites: missingSuites() })
  await prepareChromium()
  await prepareKafka()
}

async function installRedis() {
  if (findProgram('redis-server') || findProgram('valkey-server')) return
  await installPackages({ apt: ['redis-server'], brew: ['redis'] })
  if (findProgram('redis-server') || findProgram('valkey-server')) return
  const how = findProgram('apt-get')
    ? 'sudo apt-get install redis-server'
    : 'install redis-server or valkey-server with your package manager'
  throw new SetupError(`there is no redis-server on this machine. Type: ${how}`)
}

/** Where that is possible without asking: for root with apt-get, for anybody with Homebrew. */
async function installPackages({ apt, brew }) {
  if (findProgram('apt-get') && process.getuid?.() === 0) {
    const names = apt.join(' ')
    say(`installing ${names} (apt-get) …`)
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    await run('apt-get', ['update', '-qq'], 'apt-get update failed', { env })
    const install = ['install', '-y', '-qq', '--no-install-recommends', ...apt]
    await run('apt-get', install, `apt-get install ${names} failed`, { env })
  } else if (findProgram('brew')) {
    say(`installing ${brew.join(' ')} (Homebrew) …`)
    await run('brew', ['install', ...brew], `brew install ${brew.join(' ')} failed`)
  }
}

async function prepareKubernetes() {
  if (hasKubernetes()) return
  if (!findProgram('go')) {
    say(
      `kube-apiserver is not there and cannot be built: there is no Go. Suites that need it ${missingSuites()}`,
    )
    return
  }
  await buildKubernetes(say).catch((error) => {
    throw new SetupError(error.message)
  })
}

async function prepareDeployTools() {
  if (hasDeployTools()) return
  if (!findProgram('go')) {
    say(
      `Helm and kustomize are not there and cannot be built: there is no Go. Suites that need them ${missingSuites()}`,
    )
    return
  }
  await buildDeployTools(say).catch((error) => {
    throw new SetupError(error.message)
  })
}

async function prepareSite({ isNeeded }) {
  await installSiteBuilder(say).catch((error) => {
    if (isNeeded) throw new SetupError(error.message)
    say(`${error.message} Suites that need it ${missingSuites()}`)
  })
}

/** The first one has no windows, and takes less processor time; only Debian has it. */
const BROWSERS = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']

/** A browser for the tests of the page. */
async function prepareChromium() {
  const isThere = () => process.env.CHROMIUM || BROWSERS.some(findProgram)
  if (isThere()) return
  const isKnown = () =>
    !spawnSync('apt-cache', ['show', 'chromium-headless-shell'], { stdio: 'ignore' }).status
  const apt = findProgram('apt-cache') && isKnown() ? 'chromium-headless-shell' : 'chromium'
  await installPackages({ apt: [apt], brew: ['chromium'] }).catch(sayFailure)
  if (!isThere()) say(`there is no Chromium on this machine. Suites that need it ${missingSuites()}`)
}

/** What runs Kafka, what fetches it, and an independent reader of what the tests write to it. */
const FOR_KAFKA = [
  { program: 'java', apt: 'default-jre-headless', brew: 'openjdk' },
  { program: 'mvn', apt: 'maven', brew: 'maven' },
  { program: 'kcat', apt: 'kcat', brew: 'kcat' },
]

export async function prepareKafka() {
  const missing = () =>
    FOR_KAFKA.filter(({ program }) => !(program === 'mvn' && hasKafka()) && !findProgram(program))
  const packages = missing()
  if (packages.length > 0) {
    const names = { apt: packages.map(({ apt }) => apt), brew: packages.map(({ brew }) => brew) }
    await installPackages(names).catch(sayFailure)
  }
  const [first] = missing()
  if (first) {
    say(`there is no ${first.program} on this machine. Suites that need Kafka ${missingSuites()}`)
    return
  }
  if (hasKafka()) return
  await fetchKafka(say).catch((error) => {
    throw new SetupError(error.message)
  })
}

function sayFailure(error) {
  if (!(error instanceof SetupError)) throw error
  say(error.message)
}

/** Returns how suites end whose component is missing. */
function missingSuites() {
  return process.env.CI ? 'fail, because CI is set' : 'are skipped'
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
