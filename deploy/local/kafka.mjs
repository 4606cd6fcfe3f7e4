// Fetches Apache Kafka with Maven, once, into the user's cache folder.
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runProgram } from './program.mjs'

const VERSION = '4.1.1'
const POM = fileURLToPath(new URL('../../test/servers/kafka/pom.xml', import.meta.url))
const HEARTBEAT_MS = 30_000
const STALE_LOCK_MS = 15 * 60_000

function folder() {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  return join(cache, 'kubeherald', `kafka-${VERSION}`)
}

export function hasKafka() {
  return existsSync(join(folder(), 'lib', `kafka_2.13-${VERSION}.jar`))
}

export async function fetchKafka(say) {
  const dir = folder()
  mkdirSync(dir, { recursive: true })
  const lock = join(dir, '.fetching')
  await takeLock(lock, say)
  try {
    if (!hasKafka()) await fetchJars(dir, say)
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

async function fetchJars(dir, say) {
  say(`fetching Kafka ${VERSION} for the tests with Maven (43 MB, about a minute, once) …`)
  const startedMs = Date.now()
  const heartbeat = setInterval(
    () => say(`… still fetching Kafka, ${Math.round((Date.now() - startedMs) / 1_000)} s`),
    HEARTBEAT_MS,
  )
  const half = join(dir, `.lib.${process.pid}`)
  try {
    mkdirSync(half, { recursive: true })
    // A copy: Maven writes beside the file that it reads.
    copyFileSync(POM, join(half, 'pom.xml'))
    await maven(half, [
      '-q',
      '-B',
      'dependency:copy-dependencies',
      '-DoutputDirectory=jars',
      '-DincludeScope=runtime',
    ])
    renameSync(join(half, 'jars'), join(dir, 'lib'))
  } finally {
    clearInterval(heartbeat)
    rmSync(half, { recursive: true, force: true })
  }
}

async function maven(cwd, args) {
  let output = ''
  const { code } = await runProgram('mvn', args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] }, (child) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output = (output + chunk).slice(-4_000)
      })
    }
  })
  if (code === 0) return
  const errors = output.split('\n').filter((line) => line.startsWith('[ERROR]'))
  throw new Error(`mvn failed: ${errors[0]?.slice(8) || 'is the Maven repository reachable?'}`)
}

/** Two set-ups at once fetch once; a lock that was left behind is taken over. */
async function takeLock(lock, say) {
  for (let waited = false; ; ) {
    try {
      mkdirSync(lock)
      return
    } catch {
      if (Date.now() - statSync(lock, { throwIfNoEntry: false })?.mtimeMs > STALE_LOCK_MS)
        rmSync(lock, { recursive: true, force: true })
      else if (!waited) say('another set-up fetches Kafka; waiting for it …')
      waited = true
      await new Promise((resolve) => setTimeout(resolve, 1_000))
    }
  }
}
