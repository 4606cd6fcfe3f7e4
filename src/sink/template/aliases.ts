import { NAMES } from './view.ts'

/** Names, filters, tags and operators of other template languages, and what to write here. */
const VARIABLES: Readonly<Record<string, string>> = {
  metadata: 'object.metadata',
  spec: 'object.spec',
  status: 'object.status',
  data: 'object.data',
  obj: 'object',
  resource: 'object',
  this: 'object',
  ns: 'namespace',
  timestamp: 'time',
  verb: 'type',
  reason: 'event.reason',
  count: 'event.count',
  regarding: 'event.regarding',
  title: 'message.title',
  text: 'message.text',
  severity: 'message.severity',
  fields: 'message.fields',
  involvedObject: 'event.regarding',
  now: '{{ time | date: "%Y.%m.%d" }}',
}

const OF_REGARDING = (map: string) => `event.regarding.${map}["…"] for Events, ${map}["…"] for other objects`
const MAPS = { labels: OF_REGARDING('labels'), annotations: OF_REGARDING('annotations') }

/** Fields that a variable does not have, and where they are. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = { about: MAPS, event: MAPS }

/** Fields of Go templates of kubernetes-event-exporter and Botkube. */
const GO_FIELDS: Readonly<Record<string, string>> = {
  Message: 'event.message',
  Messages: 'event.message',
  Reason: 'event.reason',
  Count: 'event.count',
  Type: 'event.eventType',
  InvolvedObject: 'event.regarding',
  Source: 'object.source',
  FirstTimestamp: 'event.firstSeen',
  LastTimestamp: 'event.lastSeen',
  TimeStamp: 'time',
  Object: 'object',
  Event: 'event',
  ObjectMeta: 'object.metadata',
  Resource: 'kind',
  UID: 'uid',
  ClusterName: 'cluster',
  Level: 'message.severity',
  Title: 'message.title',
}

const FILTERS: Readonly<Record<string, string>> = {
  quote: 'json',
  toJson: 'json',
  tojson: 'json',
  to_json: 'json',
  toYaml: 'yaml',
  to_yaml: 'yaml',
  upper: 'upcase',
  toUpper: 'upcase',
  lower: 'downcase',
  toLower: 'downcase',
  title: 'capitalize',
  trunc: 'shorten: 80',
  trim: 'strip',
  b64enc: 'base64_encode',
  coalesce: 'default: "…"',
  length: 'size',
  len: 'size',
  count: 'size',
  humanize: 'quantity',
  since: 'age',
  sha256sum: 'sha256',
}

const FOR = '{% for it in object.spec.containers %} … {% endfor %}'
const TAGS: Readonly<Record<string, string>> = {
  end: '{% endif %} or {% endfor %}',
  elif: '{% elsif … %}',
  elseif: '{% elsif … %}',
  else: '{% else %}',
  if: '{% if name == "web" %} … {% endif %}',
  unless: '{% unless … %} … {% endunless %}',
  range: FOR,
  for: FOR,
  each: FOR,
  set: '{% assign it = … %}',
  with: '{% assign it = … %}',
}
const FILE_TAGS = /^(include|render|layout|block|extends|import|template|define)$/

const OPERATORS: readonly (readonly [pattern: RegExp, hint: string])[] = [
  [/^&&/, 'write "and", in {% if … and … %}'],
  [/^\|\|/, 'write "or" in {% if … or … %}; for a value that may be missing: | default: "…"'],
  [/^\?\?/, 'write | default: "…"'],
  [/^!(?!=)/, 'write "not", in {% if not … %}'],
  [/^=(?!=)/, 'comparisons are written "=="'],
  [/^[-+*/]/, 'write | plus: 1, | minus: 1, | times: 2 or | divided_by: 2'],
]

/** Returns a hint for a name that does not exist at the top level. */
export function variableHint(name: string): string | undefined {
  return Object.hasOwn(VARIABLES, name) ? `write ${VARIABLES[name]}` : undefined
}

/** Returns a hint for a field that a variable does not have. */
export function fieldHint(name: string, field: string): string | undefined {
  const fields = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined
  return fields && Object.hasOwn(fields, field) ? `write ${fields[field]}` : undefined
}

/** Returns a hint for a path that begins with a dot, as in Go templates. */
export function dottedHint(path: string): string {
  const [first = '', ...rest] = path.slice(1).split('.')
  const own = fieldName(first)
  const known = Object.hasOwn(NAMES, own) ? own : `object.${own}`
  const root = Object.hasOwn(GO_FIELDS, first) ? GO_FIELDS[first] : known
  return `names have no dot in front: write ${[root, ...rest.map(fieldName)].join('.')}`
}

/** `Status` and `UID` as JSON has them. */
function fieldName(step: string): string {
  return /^[A-Z]+$/.test(step) ? step.toLowerCase() : step.charAt(0).toLowerCase() + step.slice(1)
}

/** Returns a hint for a filter that does not exist. */
export function filterHint(name: string): string | undefined {
  if (/^(escape|escape_once|xml_escape|h|html|js|strip_html|slack)$/.test(name))
    return 'values are escaped already; | raw leaves them as they are'
  return Object.hasOwn(FILTERS, name) ? `write | ${FILTERS[name]}` : undefined
}

/** Returns a hint for a tag that does not exist. */
export function tagHint(name: string): string | undefined {
  if (FILE_TAGS.test(name)) return 'templates read no files: share texts with anchors and x-… keys of YAML'
  return Object.hasOwn(TAGS, name) ? `write ${TAGS[name]}` : undefined
}

/** Returns a hint for an operator at the beginning of a text. */
export function operatorHint(rest: string): string | undefined {
  return OPERATORS.find(([pattern]) => pattern.test(rest))?.[1]
}

/** Returns a hint if the content of `{{ }}` is a statement or call of another template language. */
export function foreignHint(content: string): string | undefined {
  const [, mark, word = ''] = /^([#/]?)([A-Za-z]+)\b/.exec(content) ?? []
  if (mark === '/') return `write ${TAGS['end']}`
  const isStatement = Object.hasOwn(TAGS, word) || FILE_TAGS.test(word)
  if (isStatement && !/^#?\w+(\s*\||[.[])/.test(content)) return tagHint(word)
  if (/^(printf|print|index|default|quote|toJson|toYaml|len|eq|upper|lower)\s+[^|\s]/.test(content))
    return 'filters follow the value: {{ name | upcase }}; keys: {{ labels["a/b"] }}; tests: {% if type == "ADDED" %}'
  if (/^\$\w*\s*:?=/.test(content)) return 'write {% assign it = … %}'
  if (content.startsWith('$')) return 'variables have no "$" in front'
  if (/\s\?\s/.test(content)) return 'write {% if … %} … {% else %} … {% endif %}'
  return /^\/\*|^#/.test(content) ? 'write {% comment %} … {% endcomment %}' : undefined
}
