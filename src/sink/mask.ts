/** Takes secrets out of a text; of one that was `cut`, also the beginning of a secret at its end. */
export type Mask = (text: string, cut?: boolean) => string

const MASKED = '[redacted]'
/** Shorter texts occur by chance and would make responses unreadable. */
const MIN_HEADER = 6
const MIN_QUERY = 4
const MIN_PATH = 6
/** Minimum length of a secret's beginning that is masked at the end of a text that was cut. */
const MIN_START = 4

/** Receivers often echo requests: their responses must not carry secrets into logs, status and dead letters. */
export function createMask(secrets: Iterable<string>): Mask {
  const all = [...new Set([...secrets].flatMap(spellings))].filter((it) => it.length > 2)
  if (all.length === 0) return (text) => text
  // The longest first: a part must not break the whole.
  const pattern = new RegExp(
    all
      .toSorted((a, b) => b.length - a.length)
      .map(escaped)
      .join('|'),
    'gi',
  )
  return (text, cut) => {
    const masked = text.replace(pattern, MASKED)
    return cut ? withoutStart(masked, all) : masked
  }
}

function withoutStart(text: string, secrets: readonly string[]): string {
  let cut = 0
  for (const secret of secrets) {
    for (let n = Math.min(secret.length - 1, text.length); n >= MIN_START && n > cut; n--)
      if (text.endsWith(secret.slice(0, n))) cut = n
  }
  return cut > 0 ? text.slice(0, -cut) + MASKED : text
}

/**
 * Returns possible secrets of a URL: user and password, path and query, each value of the query, segments that look
 * like tokens.
 */
export function secretsOfUrl(url: URL): string[] {
  const { username, password, pathname, search } = url
  const values = search.slice(1).split('&').map(afterEquals)
  return [
    url.href,
    url.host + pathname + search,
    pathname + search,
    pathname,
    search.slice(1),
    ...pathname.split('/').filter(looksLikeToken),
    ...values.filter((it) => it.length >= MIN_QUERY),
    password,
    ...(password && username.length < MIN_HEADER ? [] : [username]),
    ...secretsOfBasic(basicAuthorization(url) ?? ''),
  ].filter((it) => !it.startsWith('/') || it.length >= MIN_PATH)
}

/** Returns path and query of a URL as they may be shown: without segments that look like tokens, and without values of the query. */
export function shownPath({ pathname, search }: URL, hidden = MASKED): string {
  const path = pathname.split('/').map((it) => (looksLikeToken(it) ? hidden : it))
  const query = search.slice(1).split('&').filter(Boolean)
  const shown = query.map((it) => (it.includes('=') ? `${it.slice(0, it.indexOf('='))}=${hidden}` : hidden))
  return `${path.join('/')}${shown.length === 0 ? '' : `?${shown.join('&')}`}`
}

function looksLikeToken(segment: string): boolean {
  return segment.length >= 16 || (segment.length >= 8 && /\d/.test(segment) && /[a-z]/i.test(segment))
}

/** The values of headers, whole and in parts: `Bearer x`, `session=x; path=y`. */
export function secretsOfHeaders(values: Iterable<string>): string[] {
  return [...values]
    .flatMap((value) => {
      const parts = value.split(/[\s;,]+/)
      return [value, ...parts, ...parts.map(afterEquals), ...secretsOfBasic(value)]
    })
    .filter((it) => it.length >= MIN_HEADER && !/^(bearer|digest|negotiate)$/i.test(it))
}

/** Returns the Basic authorization of a URL's user and password. */
export function basicAuthorization({ username, password }: URL): string | undefined {
  if (!username && !password) return undefined
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}`
}

function secretsOfBasic(header: string): string[] {
  const base64 = /^basic +(\S+)$/i.exec(header)?.[1]
  if (base64 === undefined) return []
  const pair = Buffer.from(base64, 'base64').toString()
  return [base64, pair, pair.slice(pair.indexOf(':') + 1)]
}

/** Returns the value of `key=value`, or the whole text without a key. */
function afterEquals(text: string): string {
  return text.slice(text.indexOf('=') + 1)
}

/** A secret as it was written, and as pages and JSON show it. */
function spellings(secret: string): string[] {
  const plain = decoded(secret)
  const shown = [secret, plain, encodeURIComponent(plain)]
  return [
    ...shown,
    ...shown.map(inHtml),
    ...shown.map(inJson),
    ...shown.map((it) => it.replaceAll('/', '\\/')),
  ]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function inHtml(text: string): string {
  const entities: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' }
  return text.replace(/[&<>"']/g, (it) => `&${entities[it]};`)
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
