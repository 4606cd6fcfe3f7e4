import { type CelFunction, type CelType, CelValueError } from './function.ts'
import { charge } from './meter.ts'

const TYPE = 'kubernetes.URL'
export const urlType: CelType = { name: TYPE, ctor: URL }

/** An absolute URL, or an absolute path. */
const PATH_ONLY = 'path://'
const MAX_LENGTH = 8_192

function parseUrl(text: string): URL | undefined {
  charge(40 + text.length / 8)
  if (text.length > MAX_LENGTH || /\s/.test(text)) return undefined
  if (/^\/(?!\/)/.test(text)) return URL.parse(PATH_ONLY + text) ?? undefined
  return /^[A-Za-z][\w+.-]*:/.test(text) ? (URL.parse(text) ?? undefined) : undefined
}

function url(text: string): URL {
  const parsed = parseUrl(text)
  if (!parsed) throw new CelValueError(`"${text.slice(0, 80)}" is no absolute URL`)
  return parsed
}

function queryOf({ searchParams }: URL): Map<string, string[]> {
  const query = new Map<string, string[]>()
  for (const [key, value] of searchParams) query.set(key, [...(query.get(key) ?? []), value])
  return query
}

export const urlFunctions: readonly CelFunction[] = [
  { signature: 'isURL(string): bool', call: (text: string) => parseUrl(text) !== undefined },
  { signature: `url(string): ${TYPE}`, call: url },
  {
    signature: `${TYPE}.getScheme(): string`,
    call: (it: URL) => (it.protocol === 'path:' ? '' : it.protocol.slice(0, -1)),
  },
  { signature: `${TYPE}.getHost(): string`, call: (it: URL) => it.host },
  { signature: `${TYPE}.getHostname(): string`, call: (it: URL) => it.hostname.replace(/^\[|\]$/g, '') },
  { signature: `${TYPE}.getPort(): string`, call: (it: URL) => it.port },
  { signature: `${TYPE}.getEscapedPath(): string`, call: (it: URL) => it.pathname },
  { signature: `${TYPE}.getQuery(): map<string, list<string>>`, call: queryOf },
]
