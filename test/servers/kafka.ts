import { createHash, randomBytes } from 'node:crypto'
import {
  accessSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { waitFor } from '../wait-for.ts'
import type { Certificate } from './certificates.ts'
import { kcatMetadata } from './kcat.ts'
import { freePort } from './ports.ts'
import { type Program, startProgram } from './process.ts'

export interface KafkaOptions {
  /** 1 or 3; with three, topics get 3 replicas and need 2 in sync. Default 1. */
  brokers?: 1 | 3
  /** One more listener, with TLS: its certificate, and the authority that clients' certificates must come from, if any. */
  tls?: { certificate: Certificate; clientAuthority?: string }
  /** One more listener, with SASL PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 and these users. */
  users?: Readonly<Record<string, string>>
  /** More lines for the brokers' properties. */
  properties?: Readonly<Record<string, string>>
}

export interface Kafka extends AsyncDisposable {
  /** host:port of every broker, without encryption. */
  readonly brokers: readonly string[]
  /** The listener with TLS. */
  readonly tlsBrokers: readonly string[]
  /** The listener with SASL. */
  readonly saslBrokers: readonly string[]
  /** SIGKILL to one broker, counted from 0. */
  kill(broker: number): Promise<void>
  /** SIGTERM: it hands its partitions over first. */
  stop(broker: number): Promise<void>
  /** Starts one that was ended, on its ports and data; resolves when it takes connections. */
  start(broker: number): Promise<void>
  /** Resolves when metadata names all of the brokers. */
  ready(): Promise<void>
}

export const VERSION = '4.1.1'
export const CLASS_PATH = join(kafkaFolder(), 'lib', '*')
/** Short lives on a small machine: a small heap, no optimising compiler. */
export const JVM = [
  '-Xmx256m',
  '-Xms64m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-Xshare:auto',
  '-Xlog:cds=off',
  '-Xlog:cds+dynamic=off',
]
const ABANDONED_MS = 600_000

function kafkaFolder(): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return join(cache, 'kubeherald', `kafka-${VERSION}`)
}

/** What of the real thing is missing on this machine, in words; undefined when its suites can run. */
export function missingForKafka(): string | undefined {
  if (!onPath('java')) return 'Java'
  if (!existsSync(join(kafkaFolder(), 'lib', `kafka_2.13-${VERSION}.jar`))) return 'Maven, to fetch Kafka'
  return onPath('kcat') ? undefined : 'kcat'
}

function onPath(program: string): string | undefined {
  const files = (process.env['PATH'] ?? '').split(delimiter).map((dir) => join(dir, program))
  return files.find((file) => {
    try {
      accessSync(file, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/**
 * Kafka's classes as this Java holds them in memory, kept beside Kafka: with them a broker starts in two thirds of the
 * processor time. Java goes without an archive that is not there or does not fit.
 */
function classArchive(): string {
  const java = realpathSync(onPath('java') ?? '')
  return join(kafkaFolder(), `classes-${digestOf(`${java} ${statSync(java).mtimeMs}`)}.jsa`)
}

/** The file that a broker is to write the archive to at its end, if nobody did and nobody is about to. */
function archiveToWrite(archive: string): string | undefined {
  if (existsSync(archive)) return undefined
  const partial = `${archive}.partial`
  const sinceMs = statSync(partial, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
  if (Date.now() - sinceMs > ABANDONED_MS) rmSync(partial, { recursive: true, force: true })
  try {
    mkdirSync(partial)
  } catch {
    return undefined
  }
  return join(partial, 'classes.jsa')
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

/** Apache Kafka in KRaft mode: each broker is a controller as well. Topics are not created by themselves. */
export async function startKafka(options: KafkaOptions = {}): Promise<Kafka> {
  const missing = missingForKafka()
  if (missing) throw new Error(`Kafka cannot be started: there is no ${missing} on this machine`)
  const count = options.brokers ?? 1
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-kafka-'))
  const nodes: Node[] = []
  for (let i = 0; i < count; i++) {
    const ports = [await freePort(), await freePort(), await freePort(), await freePort()] as const
    nodes.push({ id: i + 1, dir: join(dir, String(i + 1)), ports, program: undefined })
  }
  const voters = nodes.map(({ id, ports }) => `${id}@127.0.0.1:${ports[1]}`).join(',')
  for (const node of nodes) {
    mkdirSync(node.dir)
    writeFileSync(join(node.dir, 'kafka.properties'), propertiesOf(node, voters, count, options))
    writeFileSync(join(node.dir, 'log4j2.yaml'), LOGGING)
  }
  await format(nodes, options)
  const archive = classArchive()
  // One of many would wait for the others, which are gone, before it ends.
  const writes = count === 1 ? archiveToWrite(archive) : undefined

  function launch(node: Node): Program {
    node.program = startProgram('java', [
      ...JVM,
      writes ? `-XX:ArchiveClassesAtExit=${writes}` : `-XX:SharedArchiveFile=${archive}`,
      `-Dlog4j2.configurationFile=${join(node.dir, 'log4j2.yaml')}`,
      ...['-cp', CLASS_PATH, 'kafka.Kafka', join(node.dir, 'kafka.properties')],
    ])
    return node.program
  }

  async function listens(node: Node, program: Program): Promise<void> {
    await waitFor(() => accepts(node.ports[0]) || failed(program), {
      timeoutMs: 60_000,
      what: () => `Kafka; it said ${program.output().slice(-2_000)}`,
    })
  }

  async function ready(): Promise<void> {
    await waitFor(() => kcatMetadata(addresses(nodes, 0)[0] as string, count), {
      timeoutMs: 60_000,
      what: () => `metadata of ${count} brokers; ${nodes[0]?.program?.output().slice(-2_000)}`,
    })
  }

  const nodeAt = (i: number) => nodes[i] as Node
  const kafka: Kafka = {
    brokers: addresses(nodes, 0),
    tlsBrokers: addresses(nodes, 2),
    saslBrokers: addresses(nodes, 3),
    kill: async (i) => nodeAt(i).program?.end('SIGKILL'),
    stop: async (i) => nodeAt(i).program?.end('SIGTERM'),
    start: (i) => listens(nodeAt(i), launch(nodeAt(i))),
    ready,
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map(({ program }) => program?.end(writes ? 'SIGTERM' : 'SIGKILL')))
      if (writes) {
        if (existsSync(writes)) renameSync(writes, archive)
        rmSync(dirname(writes), { recursive: true, force: true })
      }
      rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
    },
  }
  try {
    const programs = nodes.map((node) => [node, launch(node)] as const)
    await Promise.all(programs.map(([node, program]) => listens(node, program)))
    await ready()
  } catch (error) {
    await kafka[Symbol.asyncDispose]()
    throw error
  }
  return kafka
}

interface Node {
  id: number
  dir: string
  /** plain, controller, TLS, SASL */
  ports: readonly [number, number, number, number]
  program: Program | undefined
}

function addresses(nodes: readonly Node[], listener: 0 | 2 | 3): string[] {
  return nodes.map(({ ports }) => `127.0.0.1:${ports[listener]}`)
}

function propertiesOf(
  { id, dir, ports }: Node,
  voters: string,
  count: number,
  options: KafkaOptions,
): string {
  const { tls, users } = options
  const listeners = [
    `PLAINTEXT://127.0.0.1:${ports[0]}`,
    ...(tls ? [`SSL://127.0.0.1:${ports[2]}`] : []),
    ...(users ? [`SASL_PLAINTEXT://127.0.0.1:${ports[3]}`] : []),
  ]
  const inSync = String(Math.min(count, 2))
  return Object.entries({
    'process.roles': 'broker,controller',
    'node.id': String(id),
    'controller.quorum.voters': voters,
    listeners: [...listeners, `CONTROLLER://127.0.0.1:${ports[1]}`].join(),
    'advertised.listeners': listeners.join(),
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'listener.security.protocol.map':
      'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT',
    'log.dirs': join(dir, 'data'),
    'default.replication.factor': String(count),
    'min.insync.replicas': inSync,
    'offsets.topic.replication.factor': String(count),
    'offsets.topic.num.partitions': '1',
    'transaction.state.log.replication.factor': String(count),
    'transaction.state.log.min.isr': inSync,
    'share.coordinator.state.topic.replication.factor': String(count),
    'share.coordinator.state.topic.min.isr': inSync,
    'group.initial.rebalance.delay.ms': '0',
    'num.partitions': '3',
    'auto.create.topics.enable': 'false',
    'num.network.threads': '2',
    'num.io.threads': '4',
    'log.cleaner.dedupe.buffer.size': '16777216',
    'broker.session.timeout.ms': '3000',
    'broker.heartbeat.interval.ms': '500',
    'controller.quorum.election.timeout.ms': '500',
    'controller.quorum.fetch.timeout.ms': '1500',
    'replica.lag.time.max.ms': '3000',
    ...(tls && tlsProperties(tls, dir)),
    ...(users && saslProperties(users)),
    ...options.properties,
  })
    .map(([key, value]) => `${key}=${value}\n`)
    .join('')
}

function tlsProperties({ certificate, clientAuthority }: NonNullable<KafkaOptions['tls']>, dir: string) {
  const own = join(dir, 'server.pem')
  const authority = join(dir, 'authority.pem')
  writeFileSync(own, certificate.key + certificate.cert)
  if (clientAuthority !== undefined) writeFileSync(authority, clientAuthority)
  return {
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': own,
    ...(clientAuthority !== undefined && {
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': authority,
      'ssl.client.auth': 'required',
    }),
  }
}

function saslProperties(users: Readonly<Record<string, string>>) {
  const listener = 'listener.name.sasl_plaintext'
  const known = Object.entries(users).map(([name, password]) => `user_${name}="${password}"`)
  return {
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    [`${listener}.plain.sasl.jaas.config`]: `org.apache.kafka.common.security.plain.PlainLoginModule required ${known.join(' ')};`,
    [`${listener}.scram-sha-256.sasl.jaas.config`]:
      'org.apache.kafka.common.security.scram.ScramLoginModule required;',
    [`${listener}.scram-sha-512.sasl.jaas.config`]:
      'org.apache.kafka.common.security.scram.ScramLoginModule required;',
  }
}

/** Copies of a folder that Kafka formatted once on this machine for such users, with ids of their own. */
async function format(nodes: readonly Node[], { users = {} }: KafkaOptions): Promise<void> {
  const scram = Object.entries(users).flatMap(([name, password]) =>
    ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
      '--add-scram',
      `${mechanism}=[name=${name},password=${password}]`,
    ]),
  )
  const formatted = join(kafkaFolder(), `formatted-${digestOf(scram.join(' '))}`)
  if (!existsSync(formatted)) await formatOnce(formatted, nodes[0] as Node, scram)
  const cluster = uuid()
  for (const { id, dir } of nodes) {
    const data = join(dir, 'data')
    cpSync(formatted, data, { recursive: true })
    const meta = join(data, 'meta.properties')
    const ids = { 'node.id': String(id), 'directory.id': uuid(), 'cluster.id': cluster }
    const lines = readFileSync(meta, 'utf8').split('\n')
    const others = lines.filter((line) => !Object.keys(ids).some((key) => line.startsWith(`${key}=`)))
    writeFileSync(meta, [...others, ...Object.entries(ids).map((pair) => pair.join('=')), ''].join('\n'))
  }
}

async function formatOnce(formatted: string, { dir }: Node, scram: readonly string[]): Promise<void> {
  const program = startProgram('java', [
    ...JVM,
    `-Dlog4j2.configurationFile=${join(dir, 'log4j2.yaml')}`,
    ...['-cp', CLASS_PATH, 'kafka.tools.StorageTool', 'format', '-t', uuid()],
    ...['-c', join(dir, 'kafka.properties'), ...scram],
  ])
  await waitFor(() => program.ended(), { timeoutMs: 60_000, what: 'the format of a data folder' })
  const data = join(dir, 'data')
  if (!existsSync(join(data, 'meta.properties')))
    throw new Error(`Kafka's data folder was not made: ${program.output()}`)
  const partial = `${formatted}-${process.pid}`
  cpSync(data, partial, { recursive: true })
  try {
    renameSync(partial, formatted)
  } catch (error) {
    // Another process was quicker.
    if (!existsSync(formatted)) throw error
    rmSync(partial, { recursive: true, force: true })
  }
}

/** As Kafka writes ids: 16 bytes in base64url, and none that begins as an option would. */
function uuid(): string {
  return `A${randomBytes(16).toString('base64url').slice(1, 21)}A`
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const end = (open: boolean) => {
      socket.destroy()
      resolve(open)
    }
    socket.on('connect', () => end(true))
    socket.on('error', () => end(false))
  })
}

function failed(program: Program): false {
  if (program.ended()) throw new Error(`Kafka ended: ${program.output().slice(-2_000)}`)
  return false
}

const LOGGING = `Configuration:
  Appenders:
    Console: { name: out, PatternLayout: { pattern: "%p %c{1} %m%n" } }
  Loggers:
    Root: { level: error, AppenderRef: { ref: out } }
`
