import { printable } from '../../text/printable.ts'

/** Returns a value as text: objects and lists as compact JSON, missing values as ''. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Cuts a text to at most `length` UTF-16 units, the last one an ellipsis where something was left out. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text
  const cut = text.slice(0, Math.max(length - 1, 0))
  const end = /[\ud800-\udbff]$/.test(cut) ? cut.length - 1 : cut.length
  return `${cut.slice(0, end).trimEnd()}…`
}

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const YEAR = 365 * DAY

/**
 * Returns the age of an RFC 3339 time in kubectl's format: `45s`, `5m30s`, `3h`, `2d4h`. Other text stays as it is.
 */
export function ageOf(time: string, nowMs: number): string {
  const ms = /^\d{4}-\d\d-\d\dT/.test(time) ? Date.parse(time) : Number.NaN
  return Number.isNaN(ms) ? time : spanText((nowMs - ms) / 1_000)
}

/** A number of seconds in the same form. */
export function durationOf(value: unknown): unknown {
  const seconds = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value
  return typeof seconds === 'number' ? spanText(seconds) : value
}

/** Returns seconds in the same form. The longer it is, the less its smallest part matters. */
export function spanText(exact: number): string {
  const seconds = Math.max(0, Math.floor(exact))
  if (seconds < 2 * MINUTE) return `${seconds}s`
  if (seconds < 10 * MINUTE) return twoParts(seconds, MINUTE, 'm', 1, 's')
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`
  if (seconds < 8 * HOUR) return twoParts(seconds, HOUR, 'h', MINUTE, 'm')
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`
  if (seconds < 8 * DAY) return twoParts(seconds, DAY, 'd', HOUR, 'h')
  if (seconds < 2 * YEAR) return `${Math.floor(seconds / DAY)}d`
  if (seconds < 8 * YEAR) return twoParts(seconds, YEAR, 'y', DAY, 'd')
  return `${Math.floor(seconds / YEAR)}y`
}

function twoParts(seconds: number, large: number, a: string, small: number, b: string): string {
  const rest = Math.floor((seconds % large) / small)
  return `${Math.floor(seconds / large)}${a}${rest === 0 ? '' : `${rest}${b}`}`
}

type Data = Readonly<Record<string, unknown>>

/** Returns the command that describes an object or `about`; '' without a name. Quoted for a shell. */
export function kubectlOf(value: unknown): string {
  const data = mapOf(value)
  const metadata = Object.hasOwn(data, 'metadata') ? mapOf(data['metadata']) : data
  const name = textOf(metadata['name'])
  const kind = textOf(data['kind'])
  if (name === '' || kind === '') return ''
  const namespace = textOf(metadata['namespace'])
  const scope = namespace === '' ? '' : ` -n ${quoted(namespace)}`
  return `kubectl${scope} describe ${quoted(resourceOf(kind, textOf(data['apiVersion'])))} ${named(name)}`
}

/** The group is needed for kinds whose name others may use, too. */
function resourceOf(kind: string, apiVersion: string): string {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  const isOwn = group.includes('.') && !group.endsWith('.k8s.io')
  return kind.toLowerCase() + (isOwn ? `.${group}` : '')
}

/** A name that begins with a dash is no option. */
function named(name: string): string {
  return name.startsWith('-') ? `-- ${quoted(name)}` : quoted(name)
}

function quoted(text: string): string {
  const shown = printable(text)
  return /^[\w.:/@%+=,-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`
}

function mapOf(value: unknown): Data {
  return typeof value === 'object' && value !== null ? (value as Data) : {}
}

const DECIMAL = ['', 'k', 'M', 'G', 'T', 'P', 'E']
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const SMALL: Readonly<Record<string, number>> = { n: 1e-9, u: 1e-6, m: 1e-3 }

/**
 * A readable Kubernetes quantity: `128974848` → `123Mi`, `1500m` → `1.5`, `1500M` → `1.5G`. Other text stays as it
 * is.
 */
export function quantityOf(text: string): string {
  const [, digits, suffix = ''] =
    /^([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)([numkMGTPE]|[KMGTPE]i)?$/.exec(text) ?? []
  if (digits === undefined) return text
  const number = Number(digits)
  if (!Number.isFinite(number)) return text
  const small = SMALL[suffix]
  if (small !== undefined) return rounded(number * small, 3)
  const isDecimal = suffix !== '' && DECIMAL.includes(suffix)
  const [units, base] = isDecimal ? [DECIMAL, 1000] : [BINARY, 1024]
  const value = number * base ** Math.max(units.indexOf(suffix), 0)
  const power = Math.min(
    Math.max(Math.floor(Math.log(Math.abs(value)) / Math.log(base)), 0),
    units.length - 1,
  )
  if (!Number.isFinite(power)) return '0'
  return power === 0 ? rounded(value, 3) : `${rounded(value / base ** power, 1)}${units[power]}`
}

function rounded(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)))
}

/** Far more than a message can show. */
const MAX_YAML = 100_000
const MAX_DEPTH = 100

/** The cost of a value in addition to its text, in characters. */
const VALUE = 200

/** Returns data as block YAML, cut at the maximum length. Reading and writing are charged incrementally. */
export function yamlOf(value: unknown, charge: (characters: number) => void = () => {}): string {
  const lines: string[] = []
  let length = 0

  function line(text: string): void {
    length += text.length + 1
    if (length <= MAX_YAML) lines.push(text)
    else if (lines.at(-1) !== '# …') lines.push('# …')
  }

  function write(it: unknown, lead: string, indent: string, depth: number): void {
    charge(VALUE + lead.length + (typeof it === 'string' ? it.length : 0))
    if (typeof it !== 'object' || it === null) return line(`${lead}${scalarOf(it, indent)}`)
    const keys = Array.isArray(it) ? undefined : Object.keys(it)
    const count = keys?.length ?? (it as readonly unknown[]).length
    if (count === 0 || depth > MAX_DEPTH) return line(`${lead}${keys ? '{}' : '[]'}`)
    const isItem = lead.endsWith('- ')
    if (lead !== '' && !isItem) line(lead.trimEnd())
    for (let i = 0; i < count && length <= MAX_YAML; i++) {
      const begin = isItem && i === 0 ? lead : indent
      const deeper = `${indent}  `
      const key = keys?.[i]
      if (key === undefined) write((it as readonly unknown[])[i], `${begin}- `, deeper, depth + 1)
      else {
        charge(key.length)
        write((it as Record<string, unknown>)[key], `${begin}${wordOf(key)}: `, deeper, depth + 1)
      }
    }
  }

  write(value ?? null, '', '', 0)
  return lines.join('\n')
}

function scalarOf(value: unknown, indent: string): string {
  if (typeof value !== 'string') return JSON.stringify(value ?? null)
  const isBlock =
    value.includes('\n') && !/[^\S\n]\n|^\s|[^\S\n]$|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.test(value)
  if (!isBlock) return wordOf(value)
  const keep = value.endsWith('\n\n') ? '+' : value.endsWith('\n') ? '' : '-'
  const body = value.replace(/\n$/, '').split('\n')
  const inner = indent === '' ? '  ' : indent
  return `|${keep}\n${body.map((it) => (it === '' ? '' : inner + it)).join('\n')}`
}

/** Quotes a text unless YAML reads it as text in any case. */
function wordOf(text: string): string {
  const isPlain =
    /^[A-Za-z/_][\w ./@%+=-]*(:[\w./@%+=-]+)*$/.test(text) &&
    !/\s$/.test(text) &&
    !/^(true|false|yes|no|on|off|null|y|n)$/i.test(text)
  return isPlain ? text : JSON.stringify(text)
}
