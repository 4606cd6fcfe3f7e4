import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDesk } from '../cli/cli.ts'
import { ROOT } from '../packed.ts'
import { CLASS_PATH, JVM, VERSION } from '../servers/kafka.ts'
import { kcatMetadata, readTopic } from '../servers/kcat.ts'
import { freePort } from '../servers/ports.ts'
import { startProgram } from '../servers/process.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { readComposeFile } from './compose-file.ts'

const { kafka } = readComposeFile().services

const LOGGING = `Configuration:
  Appenders:
    Console: { name: out, PatternLayout: { pattern: "%p %c{1} %m%n" } }
  Loggers:
    Root: { level: error, AppenderRef: { ref: out } }
`

/** The broker of the compose file: its environment goes through what the image makes properties of it with. */
async function startComposeKafka(folder: string, port: number) {
  const controller = await freePort()
  const local = (text: string) =>
    text
      .replace('PLAINTEXT://:9092', `PLAINTEXT://127.0.0.1:${port}`)
      .replace('kafka:9092', `127.0.0.1:${port}`)
      .replace('localhost:9093', `127.0.0.1:${controller}`)
      .replace('/var/lib/kafka', folder)
  const env = Object.entries(kafka?.environment ?? {}).map(([key, value]) => [key, local(value)])
  const dirs = ['default', 'mounted', 'final'].map((name) => join(folder, name)) as [string, string, string]
  for (const dir of dirs) mkdirSync(dir)
  for (const name of ['log4j2.yaml', 'tools-log4j2.yaml']) writeFileSync(join(dirs[0], name), LOGGING)
  writeFileSync(join(dirs[0], 'server.properties'), '')
  const java = [...JVM, `-Dlog4j2.configurationFile=${join(dirs[0], 'log4j2.yaml')}`, '-cp', CLASS_PATH]
  const options = [
    '--default-configs-dir',
    dirs[0],
    '--mounted-configs-dir',
    dirs[1],
    '--final-configs-dir',
    dirs[2],
  ]
  const setup = spawnSync('java', [...java, 'kafka.docker.KafkaDockerWrapper', 'setup', ...options], {
    env: { PATH: process.env['PATH'], ...Object.fromEntries(env) },
    encoding: 'utf8',
  })
  if (setup.status !== 0)
    throw new Error(`the environment does not make a broker: ${setup.stdout}${setup.stderr}`)
  const program = startProgram('java', [...java, 'kafka.Kafka', join(dirs[2], 'server.properties')])
  await waitFor(() => kcatMetadata(`127.0.0.1:${port}`, 1), {
    timeoutMs: 60_000,
    what: () => `the broker; ${program.output().slice(-2_000)}`,
  })
  return program
}

test('the profile kafka is the Kafka of the other tests', () => {
  expect(kafka?.image).toContain(`apache/kafka:${VERSION}@sha256:`)
})

test('DEMO=demo-kafka writes the events of the demo to the broker of the profile kafka', async () => {
  using desk = openDesk()
  await using redis = await startRedis()
  const folder = mkdtempSync(join(tmpdir(), 'kubeherald-compose-kafka-'))
  const port = await freePort()
  const broker = await startComposeKafka(folder, port)
  try {
    const config = readFileSync(join(ROOT, 'deploy/compose/demo-kafka.yaml'), 'utf8')
      .replace(/^redis: .*$/m, `redis: { url: "${redis.url}" }`)
      .replace('kafka:9092', `127.0.0.1:${port}`)
      .replace('0.0.0.0', '127.0.0.1, port: 0')
    const program = desk.start('demo', '--shared-redis', '-c', desk.write('demo-kafka.yaml', config))
    const records = await waitFor(
      async () => {
        const found = await readTopic([`127.0.0.1:${port}`], 'k8s.events').catch(() => [])
        return found.length > 5 ? found : undefined
      },
      { timeoutMs: 90_000, what: () => `records; ${program.output().slice(-2_000)}` },
    )
    expect(records[0]?.headers).toMatchObject({ ce_source: '/clusters/kubeherald-demo' })
    expect(new Set(records.map(({ partition }) => partition)).size).toBeGreaterThan(1)
    await program.end('SIGTERM')
  } finally {
    await broker.end('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
})
