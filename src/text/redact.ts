import {
  BASE64_LOGIN,
  END_OF_PRIVATE_KEY,
  NAMED_FORMS,
  PRIVATE_KEY,
  SECRET_NAME,
  TOKEN_FORMS,
} from './secret-forms.ts'
import { redactBelow, redactRecords } from './secret-lines.ts'

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

/** Returns a text with `by` for what looks like a secret, by names and forms, not in URLs. Takes linear time. */
export function redactForms(text: string, by: string): string {
  const withoutKeys = text.replace(PRIVATE_KEY, by)
  const withoutNamed = replaceForms(redactRecords(redactBelow(withoutKeys, by), by), NAMED_FORMS, by)
  const withoutLogins = withoutNamed.replace(BASE64_LOGIN, (whole, kept: string, login: string) =>
    isLogin(login) ? kept + by : whole,
  )
  return replaceForms(withoutLogins, TOKEN_FORMS, by)
}

/** Redacts what looks like a secret in text of other programs, also in its URLs. Takes linear time. */
export function redactSecrets(text: string): string {
  return redactForms(redactText(text), REDACTED).replace(END_OF_PRIVATE_KEY, REDACTED)
}

/** If a text in Base64 is `user:password`. */
function isLogin(base64: string): boolean {
  return /^[\x21-\x39\x3b-\x7e]+:[\x20-\x7e]*$/.test(Buffer.from(base64, 'base64').toString('latin1'))
}

function replaceForms(text: string, forms: Readonly<Record<string, RegExp>>, by: string): string {
  return Object.values(forms).reduce((it, form) => it.replace(form, `$<kept>${by}`), text)
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
