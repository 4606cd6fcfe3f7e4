import { shownPath } from '../../sink/index.ts'
import { isMap } from '../../text/plain-data.ts'

const HIDDEN = '***'

/** Names of options whose values are secrets, such as `token`, `clientSecret` and `routingKey`. The `key` of `tls` is PEM text. */
const SECRET =
  /(authorization|bearer|cookie|token|password|passwd|passphrase|secret|credentials?|(access|api|auth|integration|private|routing|service)[-_]?key)$/i

const REFERENCE = /\$\{(?:env|file|var):[^}]*\}/g

/**
 * Returns options of a sink or of Redis without the secrets that are written out: values of options with the name of a secret, of headers,
 * private keys, and of URLs the user, the query and what looks like a token. References stay.
 */
export function hideSecrets(value: unknown, key = '', place: Place = {}): unknown {
  if (Array.isArray(value)) return value.map((it) => hideSecrets(it, key, place))
  if (isMap(value)) {
    const hasSecretPath =
      typeof value['preset'] === 'string' || value['type'] === 'slack' || place.hasSecretPath
    return Object.fromEntries(
      Object.entries(value).map(([name, it]) => [
        name,
        hideSecrets(it, name, {
          hasSecretPath,
          inHeaders: key === 'headers',
          inBody: place.inBody || name === 'body',
        }),
      ]),
    )
  }
  if (value === null || value === undefined || typeof value === 'boolean') return value
  if (isSecret(key, place)) return withoutLiterals(String(value))
  return typeof value === 'string' ? shownText(value, place) : value
}

interface Place {
  /** The URL of the section has a secret in its path, as those of chat services. */
  hasSecretPath?: boolean | undefined
  inHeaders?: boolean
  /** What a request contains is not checked by a schema: its secrets have any name. */
  inBody?: boolean | undefined
}

/** Headers that no service signs in with. */
const PLAIN_HEADERS = /^(accept|content-type|user-agent)$/i

function isSecret(key: string, { inHeaders = false, inBody = false }: Place): boolean {
  return (inHeaders && !PLAIN_HEADERS.test(key)) || SECRET.test(key) || (inBody && /key$/i.test(key))
}

/** Hides all but references and the scheme before one: `Bearer ${env:TOKEN}`. */
function withoutLiterals(text: string): string {
  const references = text.match(REFERENCE)
  if (!references) return text === '' ? '' : HIDDEN
  const scheme = /^(?:bearer|basic|token) (?=\$\{)/i.exec(text)?.[0] ?? ''
  const isAll = text === scheme + references.join('')
  return isAll ? text : `${HIDDEN}${references.join('')}`
}

/** `"routing_key": "…"`, `token=…`, with a value that is not a reference and no template. */
const PAIR =
  /((?:authorization|token|password|secret|key)["']?\s{0,9}[:=]\s{0,9}["']?)(?!\$\{|\{[{%])[^\s"',&}]{1,1000}/gi

function shownText(text: string, place: Place): string {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) return HIDDEN
  if (place.inBody) return text.replace(PAIR, `$1${HIDDEN}`)
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? shownUrl(text, place) : text
}

/** A URL of which references are parts is shown as far as its host. */
function shownUrl(text: string, { hasSecretPath = false }: Place): string {
  const [head = '', user = '', host = '', rest = ''] =
    /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*@)?([^/?#]*)(.*)$/is.exec(text)?.slice(1) ?? []
  const shownUser = user === '' ? '' : `${withoutLiterals(user.slice(0, -1))}@`
  const url = URL.parse(`http://host${rest.startsWith('/') ? '' : '/'}${rest}`)
  const isPlain = url !== null && !/\$\{|\{[{%]/.test(rest)
  const path =
    rest === '' || rest === '/'
      ? rest
      : hasSecretPath || !isPlain
        ? `/${withoutLiterals(rest)}`
        : shownPath(url, HIDDEN)
  return `${head}${shownUser}${host}${path}`
}
