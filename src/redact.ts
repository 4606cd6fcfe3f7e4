/** Fields that are never shown, at any depth. */
const SECRET_FIELD = /(authorization|cookie|token|password|passwd|secret|api[-_]?key)$/i

const REDACTED = '[redacted]'
const MAX_DEPTH = 5
const MAX_CAUSES = 5

/** Text without what URLs must not tell: user, password and query. */
export function redactText(text: string): string {
  return text
    .replace(/\/\/[^\s/?#@"'<>]+@/g, `//${REDACTED}@`)
    .replace(/(\b[a-z][a-z0-9+.-]*:\/\/[^\s?"'<>]*)\?[^\s"'<>)]+/gi, `$1?${REDACTED}`)
}

/**
 * Fields that may be logged: secrets and what URLs hide are taken out, errors become what they and their causes say,
 * with the stack if `withStack`.
 */
export function redactFields(fields: object, withStack: boolean): Record<string, unknown> {
  return clean(fields, withStack, 0) as Record<string, unknown>
}

function clean(value: unknown, withStack: boolean, depth: number): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Error) return describeError(value, withStack)
  if (value instanceof URL) return redactText(value.href)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return '…'
  if (Array.isArray(value)) return value.map((item) => clean(item, withStack, depth + 1))
  const entries = Object.entries(value).map(([key, field]) => [
    key,
    SECRET_FIELD.test(key) ? REDACTED : clean(field, withStack, depth + 1),
  ])
  return Object.fromEntries(entries)
}

function describeError(error: Error, withStack: boolean): unknown {
  const message = redactText(describeCauses(error))
  return withStack ? { message, stack: redactText(error.stack ?? '') } : message
}

/** What an error and its causes say, from the outside in; what repeats the outer one is left out. */
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
  if (error.message) return error.message
  if (error instanceof AggregateError) {
    const messages = error.errors.map((it) => (it instanceof Error ? messageOf(it) : String(it)))
    if (messages.length > 0) return messages.join('; ')
  }
  return (error as NodeJS.ErrnoException).code ?? error.name
}
