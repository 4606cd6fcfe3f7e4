import { SECRET_NAME } from '../../text/secret-forms.ts'
import { mapOf, type Raw, textOf, textsOf } from './tracked.ts'

/** Collects comments on the options of one sink; `name` is that of the sink, for names of environment variables. */
export interface SinkNotes {
  name: string
  notes: string[]
  lost: string[]
  off: string[]
}

/** Converts the options of a receiver, handler or channel to those of a sink. */
export type SinkMaker = (options: Raw, notes: SinkNotes) => Record<string, unknown>

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

/** Replaces a secret by `${env:…}`: with the variable that it names, else with one named after the sink. */
export function secretOf(value: unknown, suffix: string, { name, notes }: SinkNotes): string {
  const text = textOf(value)
  if (/^\$\{env:\w+\}$/.test(text)) return text
  const variable = environmentName(name, suffix)
  if (text !== '') notes.push(`put the secret that was here into the environment: ${variable}`)
  return `\${env:${variable}}`
}

/** A user, a query, or a random part of the path. */
const SECRET_IN_URL = /[@?#]|\/[^/]{16,}|\/(?=[^/]*\d)(?=[^/]*[a-z])[^/]{8,}/i

/** Replaces the URL of a webhook by `${env:…}` if it has a secret. */
export function urlOf(value: unknown, notes: SinkNotes): string {
  const text = textOf(value)
  const literal = text.replace(/\$\{[^}$]*\}/g, '').replace(/^\w+:\/\/[^/@?]*(?=[/?]|$)/, '')
  return text === '' || SECRET_IN_URL.test(literal) ? secretOf(value, 'url', notes) : text
}

/** Whether the value of such a key in a body is a credential of the service that gets it. */
export function isSecretKey(key: string): boolean {
  return SECRET_NAME.test(key) || /(?:routing|integration|service|licen[cs]e)[-_]?key$/i.test(key)
}

/** Returns scheme and host of a URL for a comment, without its user, path and query. */
export function originOf(value: unknown): string {
  const text = textOf(value)
  const url = /^\w+:\/\//.test(text) ? URL.parse(text) : null
  if (url) return `${url.protocol}//${url.host}`
  const [origin] = /^(?:\w+:\/\/)?[^/]*/.exec(text) ?? ['']
  return /[@?#]/.test(text) ? 'an address that is no URL' : origin
}

function environmentName(...parts: readonly string[]): string {
  return parts
    .join('_')
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
}

/** Basic authorization of a user and password; undefined without a user. */
export function basicOf(
  username: unknown,
  password: unknown,
  notes: SinkNotes,
): Record<string, unknown> | undefined {
  const user = textOf(username)
  return user === ''
    ? undefined
    : { basic: { username: user, password: secretOf(password, 'password', notes) } }
}

/** A channel of Slack, by name or id. That of a user disables the sink. */
export function channelOf(value: unknown, { off }: SinkNotes): string {
  const [text = ''] = textsOf(value)
  if (/^[UW][A-Z0-9]{8,}$/.test(text))
    off.push(`the channel ${text} is a user: use the id of the direct message, such as D0123456789`)
  return text === '' || /^([#@$]|[CDGUW][A-Z0-9]{8,}$)/.test(text) ? text : `#${text}`
}

/** Options of TLS; file names become `${file:…}`. Undefined if none is set. */
export function tlsOf(
  options: Raw,
  keys: Readonly<Record<string, string>>,
): Record<string, unknown> | undefined {
  const files = Object.entries(keys).flatMap(([ours, theirs]) => {
    const text = textOf(options[theirs])
    return text === '' ? [] : [[ours, ours === 'servername' ? text : `\${file:${text}}`]]
  })
  return files.length === 0 ? undefined : Object.fromEntries(files)
}

/** Header values may be credentials: they become environment variables. */
export function headersOf(value: unknown, notes: SinkNotes): Record<string, string> {
  const entries = Object.entries(mapOf(value)).flatMap(([header, it]): [string, string][] => {
    const text = textOf(it)
    if (/^content-type$/i.test(header) && /^application\/json\b/i.test(text)) {
      notes.notes.push(`${header} is sent anyway`)
      return []
    }
    if (text.includes('{{')) {
      notes.lost.push(`the header ${header}, whose value is a template`)
      return []
    }
    const isOpen = text.includes('${env:') || /^user-agent$/i.test(header)
    return [[header, isOpen ? text : secretOf(it, header, notes)]]
  })
  return Object.fromEntries(entries)
}
