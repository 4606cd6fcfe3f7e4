import type { Logger } from '../../observe/log.ts'
import { friendlyError } from '../../text/friendly-errors.ts'
import { NO_TLS } from './redis-target.ts'

/** Another program wrote to a key of kubeherald. Writes to it wait until the value is removed. */
export class ForeignKeyError extends Error {
  override name = 'ForeignKeyError'

  constructor(key: string, wanted = 'what kubeherald keeps there') {
    super(
      `the key ${key} does not hold ${wanted}: another program wrote it. Look at it with redis-cli, then rename or delete it`,
    )
  }
}

/**
 * Returns true for a fault of Redis or of the network, after which a retry may succeed. Waiting does not help after a bug, a
 * missing permission or a fenced session.
 */
export function isTransient(error: unknown): boolean {
  const root = rootOf(error)
  if (root instanceof ForeignKeyError) return true
  if (root.name === 'ReplyError') return REFUSED_FOR_NOW.test(root.message)
  return root.name === 'MaxRetriesPerRequestError' || 'syscall' in root || CONNECTION_LOST.test(root.message)
}

/** Returns true if Redis refused the command and may accept it later, also after an operator has repaired keys or permissions. */
export function isRefusal(error: unknown): boolean {
  const root = rootOf(error)
  if (root instanceof ForeignKeyError) return true
  return root.name === 'ReplyError' && (isTransient(root) || FORBIDDEN.test(root.message))
}

/** The second is what a script gets before Redis 7. */
const FORBIDDEN = /^NOPERM\b|The user executing the script can't/

/** Returns true if Redis refused the command because its memory is full. */
export function isOutOfMemory(error: unknown): boolean {
  const { name, message } = rootOf(error)
  return name === 'ReplyError' && OUT_OF_MEMORY.test(message)
}

/** Returns true for the message of a server that became a replica, or that gave the slot to another one. */
export function isNotTheMaster(message: string): boolean {
  return NOT_THE_MASTER.test(message)
}

/** Returns the error that made a transaction fail: EXECABORT itself does not contain it. */
export function rootOf(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  const { previousErrors = [] } = error as Error & { previousErrors?: readonly Error[] }
  const root = error.message.startsWith('EXECABORT') ? (previousErrors[0] ?? error) : error
  return foreignKeyIn(root) ?? root
}

/** The error reply of a plain command does not name its key, but ioredis attaches the command to it. */
function foreignKeyIn(error: Error): ForeignKeyError | undefined {
  if (error.name !== 'ReplyError' || !error.message.startsWith('WRONGTYPE')) return undefined
  const { command } = error as Error & { command?: { name: string; args: readonly unknown[] } }
  // Our scripts name the key in their error.
  const named = /^WRONGTYPE (\{kubeherald:.*)/.exec(error.message)?.[1]
  if (named !== undefined) return new ForeignKeyError(named)
  const isPlain = command && !/^eval/i.test(command.name)
  return isPlain ? new ForeignKeyError(String(command.args[0])) : undefined
}

/** Returns the message of an error for users. It replaces messages of ioredis about broken connections by plain ones. */
export function describeFault(error: unknown): string {
  const root = rootOf(error)
  if (root instanceof ForeignKeyError) return root.message
  const { name, message } = root
  const plain = friendlyError(message)
  if (name === 'ReplyError' && FORBIDDEN.test(message))
    return `Redis forbids its user a command (NOPERM); "kubeherald check" names what is missing: ${plain}`
  return name === 'ReplyError' ? plain : `Redis does not answer: ${plain}`
}

/** A permanent fault: attempts fail until the configuration, a certificate or Redis is changed. */
export class LastingFault extends Error {
  override name = 'LastingFault'
}

/** Returns true if the next attempt to connect will fail for the same reason. Unknown faults count as temporary. */
export function isLasting(error: unknown): boolean {
  const { message } = rootOf(error)
  return error instanceof LastingFault || LASTING.some((said) => said.test(message))
}

/** Wrong credentials, database, protocol or certificate. An expired certificate is not one of them: it may be renewed meanwhile. */
const LASTING: readonly RegExp[] = [
  /^(NOAUTH|WRONGPASS|NOPERM|DENIED)\b/,
  /DB index is out of range|SELECT is not allowed in cluster mode/,
  /^Protocol error, got|wrong version number|packet length too long/,
  /self-signed certificate|unable to (verify the first|get (local )?issuer) certificate|SELF_SIGNED_CERT|UNABLE_TO_/,
  /altnames|ALTNAME/,
  /certificate required|alert unknown ca/,
]

/** Before Redis 7, the error of a script begins with the script's name and line, once or twice. */
const IN_SCRIPT = /^(?:(?:ERR Error running script|@\w+: ?\d+:).*? -|(?:@\w+: ?\d+: )+)?/

/** Redis loads its file, became a replica, is full, cannot write its file, lost its replicas, moves slots. */
const REFUSED_FOR_NOW = new RegExp(
  `${IN_SCRIPT.source}(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|OOM|EXECABORT|MISCONF|NOREPLICAS|BUSY|UNBLOCKED)\\b`,
)

const NOT_THE_MASTER = new RegExp(`${IN_SCRIPT.source}(READONLY|MOVED)\\b`)

const OUT_OF_MEMORY = new RegExp(`${IN_SCRIPT.source}OOM\\b`)

/** Messages of ioredis for commands that will get no reply; it has no error classes for most of them. */
const CONNECTION_LOST =
  /^(Connection is closed|Command aborted due to connection close|Stream isn't writeable|Command timed out)/

/** Returns a message with advice for the configuration, if the reason is known; `where` is the key that holds the settings. */
export function explain(reason: string, { secure = false, where = 'redis' } = {}): string {
  const advice = adviceFor(reason, secure)?.replaceAll('redis.', `${where}.`)
  return friendlyError(reason) + (advice === undefined ? '' : `; ${advice}`)
}

function adviceFor(reason: string, secure: boolean): string | undefined {
  const advice = ADVICE.find(([pattern]) => pattern.test(reason))?.[1]
  if (advice || secure || !BROKE.test(reason)) return advice
  return 'if that port speaks TLS, write rediss://, or redis.tls: true'
}

/** How a server reacts to a client with another protocol. */
const BROKE = /ECONNRESET|EPIPE|Connection is closed|connection close|^no answer$/

const ADVICE: readonly (readonly [pattern: RegExp, advice: string])[] = [
  [
    /self-signed certificate|SELF_SIGNED_CERT|unable to (verify the first|get (local )?issuer) certificate|UNABLE_TO_/,
    `redis.tls.ca must hold the certificate of its authority, such as "\${file:/etc/redis/ca.crt}"`,
  ],
  [/altnames|ALTNAME/, 'if it is the right server, write the name of its certificate: redis.tls.servername'],
  [/certificate has expired|CERT_HAS_EXPIRED/, 'give the server a new one'],
  [/certificate required/, 'give it one: redis.tls.cert and redis.tls.key'],
  [/alert unknown ca/, 'redis.tls.cert must be issued by an authority that the server knows'],
  [
    new RegExp(`${NO_TLS}|wrong version number|packet length too long|EPROTO`),
    'for a port without TLS write redis:// and no redis.tls',
  ],
  [/^NOPERM .*'select'/, 'a database other than 0 needs it: ACL SETUSER … +select'],
  [/DB index is out of range/, 'the number after the address in redis.url is of no database that it has'],
  [
    /SELECT is not allowed in cluster mode/,
    'a Redis Cluster has database 0 only: write no number into redis.url',
  ],
  [/^Protocol error, got/, 'for a port with TLS write rediss://, or redis.tls: true'],
]

/** Current problems of this process with Redis, except those of commits (`commit-connection.ts`). */
export interface Troubles {
  /** Notes why a part cannot work. Logs the first problem of the part, and each new cause. */
  note(part: string, cause: string): void
  /** The part works again. */
  over(part: string): void
  /** Returns the oldest problem with its part; undefined if there is none. */
  first(): string | undefined
}

/** Lanes are parts, too: further ones are not noted. */
const MOST_KNOWN = 100

export function createTroubles(log: Logger): Troubles {
  const known = new Map<string, string>()
  return {
    note(part, cause) {
      const before = known.get(part)
      if (before === cause || (before === undefined && known.size >= MOST_KNOWN)) return
      known.set(part, cause)
      log.error({ part, error: cause }, 'Redis does not do what kubeherald needs')
    },
    over(part) {
      if (known.delete(part)) log.info({ part }, 'Redis does what kubeherald needs again')
    },
    first() {
      const [oldest] = known
      return oldest && `${oldest[0]}: ${oldest[1]}`
    },
  }
}
