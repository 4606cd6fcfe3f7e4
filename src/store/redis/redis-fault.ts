import { inPlainWords } from '../plain-words.ts'

/** A key of ours holds a value that is not ours: another program wrote it. Nothing is written until it is gone. */
export class ForeignKeyError extends Error {
  override name = 'ForeignKeyError'

  constructor(key: string, wanted = 'what kubeherald keeps there') {
    super(
      `the key ${key} does not hold ${wanted}: another program wrote it. Look at it with redis-cli, then rename or delete it`,
    )
  }
}

/**
 * True when Redis or the way to it is at fault, so that the same may succeed later. A bug of ours, a missing permission
 * or a fenced session is none of that: waiting would not mend it.
 */
export function isTransient(error: unknown): boolean {
  const root = rootOf(error)
  if (root instanceof ForeignKeyError) return true
  if (root.name === 'ReplyError') return REFUSED_FOR_NOW.test(root.message)
  return root.name === 'MaxRetriesPerRequestError' || 'syscall' in root || CONNECTION_LOST.test(root.message)
}

/** True when Redis answered that it did not do it, and may do it later: also when somebody has mended keys or rights. */
export function isRefusal(error: unknown): boolean {
  const root = rootOf(error)
  if (root instanceof ForeignKeyError) return true
  return root.name === 'ReplyError' && (isTransient(root) || FORBIDDEN.test(root.message))
}

/** The second is what a script gets before Redis 7. */
const FORBIDDEN = /^NOPERM\b|The user executing the script can't/

/** True when Redis refused it because it is full. */
export function isOutOfMemory(error: unknown): boolean {
  const { name, message } = rootOf(error)
  return name === 'ReplyError' && OUT_OF_MEMORY.test(message)
}

/** Why a transaction was not executed: EXECABORT only says that one of its commands was refused. */
export function rootOf(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  const { previousErrors = [] } = error as Error & { previousErrors?: readonly Error[] }
  const root = error.message.startsWith('EXECABORT') ? (previousErrors[0] ?? error) : error
  return foreignKeyIn(root) ?? root
}

/** The reply to a plain command does not name its key, but the library keeps the command with it. */
function foreignKeyIn(error: Error): ForeignKeyError | undefined {
  if (error.name !== 'ReplyError' || !error.message.startsWith('WRONGTYPE')) return undefined
  const { command } = error as Error & { command?: { name: string; args: readonly unknown[] } }
  // Our scripts name it themselves.
  const named = /^WRONGTYPE (\{kubeherald:.*)/.exec(error.message)?.[1]
  if (named !== undefined) return new ForeignKeyError(named)
  const isPlain = command && !/^eval/i.test(command.name)
  return isPlain ? new ForeignKeyError(String(command.args[0])) : undefined
}

/** What is wrong, for people: the library's words for a broken connection tell nobody anything. */
export function sayFault(error: unknown): string {
  const root = rootOf(error)
  if (root instanceof ForeignKeyError) return root.message
  const { name, message } = root
  const plain = inPlainWords(message)
  if (name === 'ReplyError' && FORBIDDEN.test(message))
    return `Redis forbids its user a command (NOPERM); "kubeherald check" names what is missing: ${plain}`
  return name === 'ReplyError' ? plain : `Redis does not answer: ${plain}`
}

/** A fault that lasts until the configuration, a certificate or Redis is changed: the next attempt fails for the same reason. */
export class LastingFault extends Error {
  override name = 'LastingFault'
}

/** True when the next attempt to connect fails for the same reason. A fault of an unknown kind counts as one that passes. */
export function isLasting(error: unknown): boolean {
  const { message } = rootOf(error)
  return error instanceof LastingFault || LASTING.some((said) => said.test(message))
}

/** The user and password, the database, what the port speaks, and certificates. One that has expired may be renewed meanwhile. */
const LASTING: readonly RegExp[] = [
  /^(NOAUTH|WRONGPASS|NOPERM|DENIED)\b/,
  /DB index is out of range|SELECT is not allowed in cluster mode/,
  /^Protocol error, got|wrong version number|packet length too long/,
  /self-signed certificate|unable to (verify the first|get (local )?issuer) certificate|SELF_SIGNED_CERT|UNABLE_TO_/,
  /altnames|ALTNAME/,
  /certificate required|alert unknown ca/,
]

/** Before Redis 7, what a script is refused with follows the name of the script and its line, once or twice. */
const IN_SCRIPT = /^(?:(?:ERR Error running script|@\w+: ?\d+:).*? -|(?:@\w+: ?\d+: )+)?/

/** Redis loads its file, became a replica, is full, cannot write its file, lost its replicas, moves slots. */
const REFUSED_FOR_NOW = new RegExp(
  `${IN_SCRIPT.source}(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|OOM|EXECABORT|MISCONF|NOREPLICAS|BUSY|UNBLOCKED)\\b`,
)

const OUT_OF_MEMORY = new RegExp(`${IN_SCRIPT.source}OOM\\b`)

/** What ioredis says of commands whose reply will never come; it has no error classes for most of them. */
const CONNECTION_LOST =
  /^(Connection is closed|Command aborted due to connection close|Stream isn't writeable|Command timed out)/
