// Fetches Apache Kafka with Maven, once, into the user's cache folder.
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder, fillFolder, telling } from './cache.mjs'
import { runProgram } from './program.mjs'

const VERSION = '4.1.1'
const POM = fileURLToPath(new URL('../../test/servers/kafka/pom.xml', import.meta.url))
const FOLDER = cacheFolder(`kafka-${VERSION}`)

export function hasKafka() {
  return existsSync(join(FOLDER, 'lib', `kafka_2.13-${VERSION}.jar`))
}

export async function fetchKafka(say) {
  await fillFolder(FOLDER, { say, doing: 'fetches Kafka' }, async () => {
    if (hasKafka()) return
    say(`fetching Kafka ${VERSION} for the tests with Maven (43 MB, about a minute, once) …`)
    await telling(say, 'fetching Kafka', fetchJars)
  })
}

async function fetchJars() {
  const half = join(FOLDER, `.lib.${process.pid}`)
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
    renameSync(join(half, 'jars'), join(FOLDER, 'lib'))
  } finally {
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
