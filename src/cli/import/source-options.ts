/** Another tool's configuration as parsed YAML of any form. */
export type Raw = Readonly<Record<string, unknown>>

export function mapOf(value: unknown): Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Raw) : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
}

export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : ''
}

export function textsOf(value: unknown): string[] {
  return listOf(value)
    .map(textOf)
    .filter((text) => text !== '')
}

/** Returns the namespaces of a key, none for all; `off`: why they cannot be converted. */
export function namespacesOf(value: unknown): { namespaces: string[]; off: string[] } {
  const namespaces = textsOf(value)
  const isRead = listOf(value).every((it) => typeof it === 'string')
  return { namespaces, off: isRead ? [] : ['namespace is neither a name nor a list of names'] }
}

/** Returns a function that makes unique DNS labels of names. */
export function namer(): (wanted: string) => string {
  const taken = new Set<string>()
  return (wanted) => {
    const base =
      wanted
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, '-')
        .replace(/^-|-$/g, '')
        .slice(0, 50)
        .replace(/-$/, '') || 'unnamed'
    let name = base
    for (let i = 2; taken.has(name); i++) name = `${base}-${i}`
    taken.add(name)
    return name
  }
}

/** Replaces a secret by `${env:…}` with the given variable, or with the one that it names. */
export function secretOf(value: unknown, variable: string, notes: string[]): string {
  const [, named] = /^\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?$/.exec(String(value ?? '')) ?? []
  if (named) return `\${env:${named}}`
  if (value) notes.push(`put the secret that was here into the environment: ${variable}`)
  return `\${env:${variable}}`
}

/** Converts `${VAR}` of a shell to `${env:VAR}`. */
export function withVariables(value: unknown): string {
  return String(value ?? '').replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name) => `\${env:${name}}`)
}

/** A user, a query, or a random part of the path. */
const SECRET_IN_URL = /\/\/[^/]*@|\?|\/[^/]{16,}|\/(?=[^/]*\d)(?=[^/]*[a-z])[^/]{8,}/i

/** Replaces the URL of a webhook by `${env:…}` if it has a secret. */
export function urlOf(value: unknown, variable: string, notes: string[]): string {
  const text = withVariables(value)
  const literal = text.replace(/\$\{[^}$]*\}/g, '')
  return SECRET_IN_URL.test(literal.replace(/^\w+:\/\/[^/@?]*(?=[/?]|$)/, ''))
    ? secretOf(value, variable, notes)
    : text
}

export function environmentName(...parts: readonly string[]): string {
  return parts
    .join('_')
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
}

/** Options that record which of them were read. */
interface TrackedOptions {
  options: Raw
  /** The paths of the options that have a value and were not read, such as `sasl.keytab`. */
  unread(): string[]
}

/** Records which options are read: the others become comments. */
export function trackOptions(raw: Raw): TrackedOptions {
  const read = new Set<string>()
  const inner = new Map<string, TrackedOptions>()
  for (const [key, value] of Object.entries(raw))
    if (Object.keys(mapOf(value)).length > 0) inner.set(key, trackOptions(mapOf(value)))
  const options = new Proxy(raw, {
    get(target, key) {
      read.add(String(key))
      return inner.get(String(key))?.options ?? Reflect.get(target, key)
    },
  })
  const unread = () =>
    Object.keys(raw).flatMap((key) => {
      if (!read.has(key)) return isSet(raw[key]) ? [key] : []
      return (
        inner
          .get(key)
          ?.unread()
          .map((it) => `${key}.${it}`) ?? []
      )
    })
  return { options, unread }
}

/** The comments for options that were not carried over. */
export function notesOf(unread: readonly string[]): string[] {
  return unread.map((key) => {
    const effect = EFFECTS[key] === undefined ? '' : `: ${EFFECTS[key]}`
    return `${key} was not carried over${effect}`
  })
}

/** What happens without an option, where that is not expected. */
const EFFECTS: Readonly<Record<string, string>> = {
  tlsskip: 'certificates are always checked; tls.ca takes the authority',
  layout: 'a CloudEvent is sent',
  avro: 'JSON is sent',
  maxage: 'maxFiles limits the full files',
}

/** Other tools' files have empty options. */
function isSet(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(isSet)
  return value !== undefined && value !== null && value !== '' && value !== false
}

/** Slack's names; a Go template would need the list of allowed channels. */
export function channelOf(value: unknown, notes: string[]): string {
  const [text = ''] = textsOf(value)
  if (text.includes('{{')) {
    notes.push(`the channel is a Go template that was not carried over: ${text}`)
    return '#kubernetes'
  }
  if (text === '') {
    notes.push('no channel was given')
    return '#kubernetes'
  }
  return /^[#CG]/.test(text) ? text : `#${text}`
}
