/** Paths of Events in templates of kubernetes-event-exporter, and the same values here. */
const PATHS: Readonly<Record<string, string>> = {
  '': 'object',
  Message: 'event.message',
  Reason: 'event.reason',
  Type: 'event.eventType',
  Count: 'event.count',
  Action: 'object.action',
  Namespace: 'namespace',
  Name: 'name',
  UID: 'uid',
  ClusterName: 'cluster',
  FirstTimestamp: 'event.firstSeen',
  LastTimestamp: 'event.lastSeen',
  GetTimestampISO8601: 'event.firstSeen',
  'InvolvedObject.Kind': 'about.kind',
  'InvolvedObject.Name': 'about.name',
  'InvolvedObject.Namespace': 'about.namespace',
  'InvolvedObject.APIVersion': 'event.regarding.apiVersion',
  'InvolvedObject.UID': 'object.involvedObject.uid',
  'InvolvedObject.FieldPath': 'object.involvedObject.fieldPath',
  'Source.Component': 'object.source.component',
  'Source.Host': 'object.source.host',
}

/** Functions of Go templates and sprig with one value, and the filter for each; arguments come before the value. */
const FILTERS: Readonly<Record<string, (...args: string[]) => string>> = {
  toJson: () => 'json',
  toPrettyJson: () => 'json: 2',
  quote: () => 'json',
  upper: () => 'upcase',
  lower: () => 'downcase',
  trim: () => 'strip',
  default: (value) => `default: ${value}`,
  trunc: (length) => `truncate: ${length}, ""`,
  replace: (from, to) => `replace: ${from}, ${to}`,
}

const COLOURS: Readonly<Record<string, string>> = {
  danger: 'error',
  red: 'error',
  warning: 'warning',
  yellow: 'warning',
  orange: 'warning',
  good: 'info',
  green: 'info',
  blue: 'info',
}

/**
 * Converts a Go template about an Event to Liquid: values, `if` with `eq`, `ne`, `not`, and some functions. Undefined if it has anything
 * else.
 */
export function liquidOf(template: string): string | undefined {
  let depth = 0
  let isKnown = !/\{%/.test(template)
  const liquid = partsOf(template, '{{', '}}').map(({ text, isTag }) => {
    if (!isTag) return text
    const [left, right] = [text.startsWith('-') ? '-' : '', text.endsWith('-') ? '-' : '']
    const tag = tagOf(text.slice(left.length, text.length - right.length).trim())
    if (tag === undefined || (depth === 0 && /^(else|elsif|endif)/.test(tag.text))) isKnown = false
    if (tag?.text.startsWith('if ')) depth++
    if (tag?.text === 'endif') depth--
    const [open, close] = tag?.isValue ? ['{{', '}}'] : ['{%', '%}']
    return `${open}${left} ${tag?.text} ${right}${close}`
  })
  return isKnown && depth === 0 ? liquid.join('') : undefined
}

/** Splits a text into tags, without what encloses them, and the text between. A tag that does not end is text. */
function partsOf(text: string, open: string, close: string): { text: string; isTag: boolean }[] {
  const parts: { text: string; isTag: boolean }[] = []
  let from = 0
  for (;;) {
    const start = text.indexOf(open, from)
    const end = start === -1 ? -1 : text.indexOf(close, start + open.length)
    if (end === -1) break
    parts.push({ text: text.slice(from, start), isTag: false })
    parts.push({ text: text.slice(start + open.length, end), isTag: true })
    from = end + close.length
  }
  return [...parts, { text: text.slice(from), isTag: false }]
}

/** Converts a colour, or a Go template of colours, to a severity or a template of severities. */
export function severityOf(colour: string): string | undefined {
  const liquid = liquidOf(colour)
  if (liquid === undefined) return undefined
  const parts = partsOf(liquid, '{%', '%}').map(({ text, isTag }) => {
    if (isTag) return `{%${text}%}`
    const value = text.trim()
    return value === '' ? text : severityOfColour(value.toLowerCase())
  })
  return parts.every((it) => it !== undefined) ? parts.join('') : undefined
}

function severityOfColour(text: string): string | undefined {
  if (Object.hasOwn(COLOURS, text)) return COLOURS[text]
  const [, r, g, b] = /^#?([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/.exec(text) ?? []
  if (r === undefined || g === undefined || b === undefined) return undefined
  // Hexadecimal digits compare like numbers: red is an error, orange and yellow are warnings.
  if (r < '80' || r <= b) return 'info'
  return g < '60' ? 'error' : r >= g ? 'warning' : 'info'
}

function tagOf(inside: string): { text: string; isValue: boolean } | undefined {
  const tag = (text: string | undefined, isValue = false) =>
    text === undefined ? undefined : { text, isValue }
  if (inside === 'end') return tag('endif')
  if (inside === 'else') return tag('else')
  const [, word, test] = /^(if|else if)\s+(.+)$/s.exec(inside) ?? []
  if (test !== undefined) {
    const condition = conditionOf(test)
    return tag(condition && `${word === 'if' ? 'if' : 'elsif'} ${condition}`)
  }
  return tag(outputOf(inside), true)
}

/** A text that does not end reaches to the end, so that nothing is searched twice. */
const TOKENS = /"(?:[^"\\]|\\.)*(?:"|\\?$)|`[^`]*(?:`|$)|[^\s|"`]+|\|/gs

function conditionOf(text: string): string | undefined {
  const [first = '', ...rest] = text.match(TOKENS) ?? []
  const operands = (/^(eq|ne|not)$/.test(first) ? rest : [first, ...rest]).map(operandOf)
  const [a, b] = operands
  if (operands.length > 2 || operands.includes(undefined)) return undefined
  if (first === 'eq' || first === 'ne') return b && `${a} ${first === 'eq' ? '==' : '!='} ${b}`
  // An empty text is true in Liquid.
  if (b !== undefined) return undefined
  return first === 'not' ? `${a} == nil or ${a} == ""` : `${a} and ${a} != ""`
}

/** `.Reason`, `toJson .Count`, `.Message | trunc 80` */
function outputOf(text: string): string | undefined {
  const [first = [], ...calls] = splitBy(text.match(TOKENS) ?? [], '|')
  const [name, map = '', key = '', ...more] = first
  const [, metadata] = (name === 'index' && /^"[^"\\]+"$/.test(key) && METADATA.exec(map)) || []
  if (metadata && more.length === 0 && calls.length === 0)
    return `event.regarding.${metadata.toLowerCase()}[${key}]`
  const isCall = first.length > 1
  const milliseconds = first.length === 1 && first[0] === '.GetTimestampMs'
  const value = milliseconds ? operandOf('.FirstTimestamp') : operandOf(first.at(-1) ?? '')
  const moment = dateOf(first)
  if (moment !== undefined) return calls.length === 0 ? moment : undefined
  const filters = [...(isCall ? [first.slice(0, -1)] : []), ...calls].map(filterOf)
  if (milliseconds) filters.unshift('date: "%s" | append: "000"')
  return value === undefined || filters.includes(undefined) ? undefined : [value, ...filters].join(' | ')
}

/** `.FirstTimestamp.Format "2006-01-02T15:04:05Z"`: times are in this format here. */
function dateOf([path = '', layout = '', ...more]: readonly string[]): string | undefined {
  const [, time] = /^\.(FirstTimestamp|LastTimestamp)\.Format$/.exec(path) ?? []
  const isIso = /^"2006-01-02T15:04:05(\.0+)?(Z|Z07:00)"$/.test(layout)
  return time !== undefined && isIso && more.length === 0 ? PATHS[time] : undefined
}

function filterOf([name = '', ...args]: readonly string[]): string | undefined {
  const make = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined
  const operands = args.map(operandOf)
  if (!make || operands.length !== make.length || operands.includes(undefined)) return undefined
  return make(...(operands as string[]))
}

const METADATA = /^\.InvolvedObject\.(Labels|Annotations)(?:\.(\w+))?$/

/** A path, a text or a number. */
function operandOf(token: string): string | undefined {
  const [, map, key] = METADATA.exec(token) ?? []
  if (map && key) return `event.regarding.${map.toLowerCase()}.${key}`
  if (/^-?\d+$/.test(token)) return token
  if (/^"[^"\\]*"$/.test(token)) return token
  const path = /^\.[A-Za-z0-9.]*$/.test(token) ? token.slice(1) : undefined
  return path !== undefined && Object.hasOwn(PATHS, path) ? PATHS[path] : undefined
}

function splitBy(tokens: readonly string[], separator: string): string[][] {
  const parts: string[][] = [[]]
  for (const token of tokens) {
    if (token === separator) parts.push([])
    else parts.at(-1)?.push(token)
  }
  return parts
}
