const HEADER_NAMES = 'authorization|cookie'
const VALUE_NAMES = 'token|pass(?:word|wd|phrase)|secret|(?:api|access|private|secret)[-_.]?key'

/** Names whose values are secrets: `DB_PASSWORD`, `apiKey`, `auth-token`. */
export const SECRET_NAME = new RegExp(`(?:${HEADER_NAMES}|${VALUE_NAMES}|pass|pwd|credentials?)$`, 'i')

const REDACTED = '[redacted]'
const MAX_DEPTH = 5
const MAX_CAUSES = 5

/** The longest message of another program, in characters, that logs, status and dead letters keep. */
const MAX_MESSAGE = 2_048
/** The longest text of a log field, in characters: a report of problems has several lines. */
const MAX_FIELD = 16_384

/** Returns the text without user, password and query of the URLs in it. Takes linear time. */
export function redactText(text: string): string {
  return text
    .replace(/\/\/[^\s/?#"'<>]+@/g, `//${REDACTED}@`)
    .replace(/(:\/\/(?:(?!:\/\/)[^\s?"'<>])*)\?([^\s"'<>]+)/g, (whole, before: string, query: string) =>
      query.startsWith(')') ? whole : `${before}?${REDACTED}${query.endsWith(')') ? ')' : ''}`,
    )
}

/** In a text some names have another meaning, too: `credentials: none found`, `PWD=/app`, `pass: 12`. */
const TEXT_NAMES = String.raw`${VALUE_NAMES}|credentials?(?=\\{0,8}["']|[ \t]{0,64}=)|pwd(?!=/)|(?<=[-_.])(?:pass|pwd)|pass(?=\\{0,8}["'])`
/** What is between a name and its value: `=`, `":`, `' =>`, `\\\":`, and `","value":` where the name is a value itself. */
const BETWEEN = String.raw`\\{0,8}["']?(?:[ \t]{0,64}[,\n]\s{0,64}\\{0,8}["']?value\\{0,8}["']?)?[ \t]{0,64}[:=]{1,2}>?[ \t]{0,64}`
/*
 * What repeats in the next three never has to be given back, as nothing behind it must match: so they take linear time. The bound is for
 * the stack, which each repetition uses.
 */
/** A text to the same quote, which has as many backslashes before it in JSON within JSON, or to the end of its line. */
const QUOTED = String.raw`(?<quote>\\{0,8}["'])(?:[^\\"'\n]+|''|\\+(?!["'\\])|(?!\k<quote>)\\*["']){0,99999}(?:\k<quote>)?`
/** A list to its end, or that of its line. A bracket in front of an ordinary character does not end it. */
const LIST = String.raw`\[(?:[^\]\n]+|\](?=[^\s,;:&})\]"'\\])){0,99999}\]?`
/** The rest of a line, or of the quoted text that it is in; with `name="…"`, as in digests and cookies. */
const REST = String.raw`(?:[\w-]{1,40}=\\{0,8}"[^"\n]*"(?=[\\"';, \n]|$)|[ ,;]|[^"'\n ,;]+){1,99999}`

/** Values of headers have spaces: a scheme and its credentials, several cookies. */
const HEADER_SECRET = new RegExp(`((?:${HEADER_NAMES})${BETWEEN})(?:${QUOTED}|${LIST}|${REST})`, 'gi')
/** `password=…`, `"apiKey": "…"`, `token: Bearer …`, `secret: ["…"]`. */
const NAMED_SECRET = new RegExp(
  String.raw`((?:${TEXT_NAMES})${BETWEEN})(?:(?:bearer|basic) +)?(?:${QUOTED}|${LIST}|[^\s,;&"']+)`,
  'gi',
)
/** Bearer tokens and JSON Web Tokens, with or without a name. */
const BARE_TOKEN = /\bbearer +[\w.~+/=-]{8,}|(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/gi
/** Whole, without its end, or without its begin: of that at most 256 lines, since each line is tried as the first. */
const PRIVATE_KEY =
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?|(?:^[A-Za-z\d+/=]{16,80}\n){0,256}^[A-Za-z\d+/=]{1,80}\n-----END [A-Z ]{0,30}PRIVATE KEY-----/gm

/** Returns a text with other values behind names of secrets: `--db-password=…`, `token: …`. Takes linear time. */
export function redactNamed(text: string, by: string): string {
  return text.replace(HEADER_SECRET, `$1${by}`).replace(NAMED_SECRET, `$1${by}`)
}

/** Redacts what looks like a secret in text of other programs, by names of fields and forms of tokens. Takes linear time. */
export function redactSecrets(text: string): string {
  return redactNamed(redactText(text).replace(PRIVATE_KEY, REDACTED), REDACTED).replace(BARE_TOKEN, REDACTED)
}

/** Returns at most `most` characters of a text. A URL that the cut would leave without its end is left out as a whole. */
export function cutText(text: string, most = MAX_MESSAGE): string {
  if (text.length <= most) return text
  const cut = text.slice(0, most - 1).toWellFormed()
  const url = cut.lastIndexOf('//')
  const isCutUrl = url !== -1 && !/[\s"'<>]/.test(cut.slice(url))
  return `${isCutUrl ? cut.slice(0, url) : cut}…`
}

/** Returns the message of another program as logs, status and dead letters keep it: cut and redacted. */
export function redactMessage(message: string): string {
  return redactText(cutText(message)).slice(0, MAX_MESSAGE)
}

/**
 * Fields that may be logged: secrets and what URLs hide are taken out, errors become their messages and those of their causes,
 * with the stack if `withStack`.
 */
export function redactFields(fields: object, withStack: boolean): Record<string, unknown> {
  return clean(fields, withStack, 0) as Record<string, unknown>
}

function clean(value: unknown, withStack: boolean, depth: number): unknown {
  if (typeof value === 'string') return redactText(cutText(value, MAX_FIELD))
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Error) return describeError(value, withStack)
  if (value instanceof URL) return redactText(value.href)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return '…'
  if (Array.isArray(value)) return value.map((item) => clean(item, withStack, depth + 1))
  const entries = Object.entries(value).map(([key, field]) => [
    key,
    SECRET_NAME.test(key) ? REDACTED : clean(field, withStack, depth + 1),
  ])
  return Object.fromEntries(entries)
}

function describeError(error: Error, withStack: boolean): unknown {
  const message = redactMessage(describeCauses(error))
  return withStack ? { message, stack: redactText(cutText(error.stack ?? '', MAX_FIELD)) } : message
}

/** The messages of an error and its causes, from the outside in; what repeats the outer one is left out. */
export function describeCauses(error: Error): string {
  let text = messageOf(error)
  let { cause } = error
  for (let i = 0; i < MAX_CAUSES && cause instanceof Error; i++) {
    const message = messageOf(cause)
    if (!text.includes(message)) text += `: ${message}`
    cause = cause.cause
  }
  return text
}

/** Failed connections come as an AggregateError without a message of its own. */
function messageOf(error: Error): string {
  if (error.message) return cutText(error.message)
  if (error instanceof AggregateError) {
    const messages = error.errors.map((it) => (it instanceof Error ? messageOf(it) : String(it)))
    if (messages.length > 0) return messages.join('; ')
  }
  return (error as NodeJS.ErrnoException).code ?? error.name
}
