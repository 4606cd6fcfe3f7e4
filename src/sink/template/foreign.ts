/** What those write who know other template languages, and what to write here. */
const STATEMENTS: Readonly<Record<string, string>> = {
  if: '{% if name == "web" %} … {% endif %}',
  elseif: '{% elsif … %}',
  else: '{% else %}',
  end: '{% endif %} or {% endfor %}',
  endif: '{% endif %}',
  range: '{% for it in object.spec.containers %} … {% endfor %}',
  for: '{% for it in object.spec.containers %} … {% endfor %}',
  each: '{% for it in object.spec.containers %} … {% endfor %}',
  unless: '{% unless … %} … {% endunless %}',
  with: '{% assign it = object.status %}, and it.phase behind it',
  define: 'the text where it is needed: x-… keys and anchors share it',
  template: 'the text where it is needed: x-… keys and anchors share it',
  include: 'the text where it is needed: x-… keys and anchors share it',
}

const FUNCTIONS: Readonly<Record<string, string>> = {
  printf: 'write texts and values side by side: {{ namespace }}/{{ name }}',
  print: 'write texts and values side by side: {{ namespace }}/{{ name }}',
  index: 'write the key in brackets: labels["app.kubernetes.io/name"], object.spec.containers[0]',
  default: 'filters follow the value: {{ namespace | default: "none" }}',
  quote: 'filters follow the value: {{ name | json }}',
  toJson: 'filters follow the value: {{ object.spec | json }}',
  toYaml: 'filters follow the value: {{ object.spec | yaml }}',
  len: 'write object.spec.containers.size',
  eq: 'comparisons stand between values: {% if type == "ADDED" %}',
  upper: 'filters follow the value: {{ name | upcase }}',
  lower: 'filters follow the value: {{ name | downcase }}',
}

const CHOICE = 'write {% if … %} … {% else %} … {% endif %}'

/** What is wrong with an output as a whole, where another language shows. */
export function foreignHint(content: string): string | undefined {
  const [, mark, word = ''] = /^([#/]?)([A-Za-z]+)\b/.exec(content) ?? []
  if (mark === '/') return `write ${STATEMENTS['end']}`
  if (Object.hasOwn(STATEMENTS, word) && !/^#?\w+(\s*\||[.[])/.test(content))
    return `write ${STATEMENTS[word]}`
  if (Object.hasOwn(FUNCTIONS, word) && /^\w+\s+[^|\s]/.test(content)) return FUNCTIONS[word]
  const [, variable] = /^\$(\w*)\s*:?=/.exec(content) ?? []
  if (variable !== undefined) return `write {% assign ${variable || 'it'} = … %}`
  if (content.startsWith('$')) return 'variables have no "$" in front'
  if (/\s\?\s/.test(content)) return CHOICE
  if (/^\/\*|^#/.test(content)) return 'write {% comment %} … {% endcomment %}'
  return undefined
}

/** What to write for an operator of other languages, at the beginning of a text. */
export function operatorHint(rest: string): string | undefined {
  if (rest.startsWith('&&')) return 'write "and", in {% if … and … %}'
  if (rest.startsWith('||'))
    return 'write "or" in {% if … or … %}; for a value that may be missing: | default: "…"'
  if (rest.startsWith('??')) return 'write | default: "…"'
  if (rest.startsWith('!') && !rest.startsWith('!='))
    return 'write {% unless … %}, or "not" in {% if not … %}'
  if (rest.startsWith('=') && !rest.startsWith('==')) return 'comparisons are written "=="'
  if (rest.startsWith('+')) return 'write texts side by side; numbers: | plus: 1'
  if (/^[-*/]/.test(rest)) return 'write | minus: 1, | times: 2, | divided_by: 2'
  return undefined
}

const FILTER_WORDS: Readonly<Record<string, string>> = {
  quote: 'json',
  toJson: 'json',
  tojson: 'json',
  to_json: 'json',
  jsonify: 'json',
  toPrettyJson: 'json: 2',
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
  length: 'size',
  len: 'size',
  count: 'size',
  coalesce: 'default: "…"',
  slackCode: 'code',
  humanize: 'quantity',
  since: 'age',
  urlquery: 'url_encode',
  sha256sum: 'sha256',
}

const ESCAPES = ['escape', 'escape_once', 'xml_escape', 'h', 'html', 'js', 'strip_html', 'slack']

/** What to write for a filter of other languages. */
export function filterHint(name: string): string | undefined {
  if (Object.hasOwn(FILTER_WORDS, name)) return `here it is called "${FILTER_WORDS[name]}"`
  return ESCAPES.includes(name) ? 'values are escaped already; | raw leaves them as they are' : undefined
}

const TAG_WORDS: Readonly<Record<string, string>> = {
  end: 'write {% endif %}, {% endfor %} or what was begun',
  elif: 'write {% elsif … %}',
  elseif: 'write {% elsif … %}',
  range: 'write {% for it in … %}',
  set: 'write {% assign it = … %}',
  with: 'write {% assign it = … %}',
}

const FILE_TAGS = ['include', 'render', 'layout', 'block', 'extends', 'import', 'template', 'define']

/** What to write for a tag of other languages, or for one that reads files. */
export function tagHint(name: string): string | undefined {
  if (FILE_TAGS.includes(name))
    return 'templates read no files: share texts with anchors and x-… keys of YAML'
  return Object.hasOwn(TAG_WORDS, name) ? TAG_WORDS[name] : undefined
}

const PLACES: Readonly<Record<string, string>> = {
  metadata: 'object.metadata',
  spec: 'object.spec',
  status: 'object.status',
  data: 'object.data',
  obj: 'object',
  resource: 'object',
  this: 'object',
  reason: 'event.reason',
  count: 'event.count',
  regarding: 'event.regarding',
  involvedObject: 'event.regarding',
  title: 'message.title',
  text: 'message.text',
  severity: 'message.severity',
  quote: 'message.quote',
  command: 'message.command',
  fields: 'message.fields',
  verb: 'type',
  ns: 'namespace',
  timestamp: 'time',
  now: '"now" in quotes, as in {{ "now" | date: "%H:%M" }}',
}

/** Where something lies that was looked for at the top. */
export function placeHint(name: string): string | undefined {
  return Object.hasOwn(PLACES, name) ? `write ${PLACES[name]}` : undefined
}

/** Values of the Go templates of kubernetes-event-exporter, Botkube and kubewatch, and what they are called here. */
const GO_PATHS: Readonly<Record<string, string>> = {
  Message: 'event.message',
  Messages: 'event.message',
  Reason: 'event.reason',
  Type: 'event.eventType',
  Count: 'event.count',
  Kind: 'kind',
  Resource: 'kind',
  Name: 'name',
  Namespace: 'namespace',
  UID: 'uid',
  Labels: 'labels',
  Annotations: 'annotations',
  Cluster: 'cluster',
  ClusterName: 'cluster',
  Level: 'message.severity',
  Severity: 'message.severity',
  Title: 'message.title',
  FirstTimestamp: 'event.firstSeen',
  LastTimestamp: 'event.lastSeen',
  TimeStamp: 'time',
  Timestamp: 'time',
  'InvolvedObject.Kind': 'about.kind',
  'InvolvedObject.Name': 'about.name',
  'InvolvedObject.Namespace': 'about.namespace',
  'InvolvedObject.APIVersion': 'event.regarding.apiVersion',
  'InvolvedObject.UID': 'event.regarding.uid',
  'Source.Component': 'event.reportingComponent',
  'Source.Host': 'object.source.host',
  ReportingController: 'event.reportingComponent',
}

/** A path that begins with a dot, as other languages write it. */
export function dottedHint(path: string): string {
  const [first = '', ...rest] = path.slice(1).split('.')
  const known = [`${first}.${rest[0]}`, first].find((it) => Object.hasOwn(GO_PATHS, it))
  if (known !== undefined) {
    const more = path
      .slice(1 + known.length)
      .split('.')
      .filter(Boolean)
    return `names have no dot in front: write ${[GO_PATHS[known], ...more].join('.')}`
  }
  if (/^involvedObject$/i.test(first) && rest[0] !== undefined && /^(labels|annotations)$/i.test(rest[0]))
    return `names have no dot in front; messages do not carry ${rest[0].toLowerCase()} of the object that an Event is about`
  const roots: Readonly<Record<string, string>> = { Object: 'object', Event: 'event', Cluster: 'cluster' }
  const root = Object.hasOwn(roots, first) ? roots[first] : undefined
  const steps = (root === undefined ? [first, ...rest] : rest).map(fieldName)
  return `names have no dot in front: write ${[root ?? 'object', ...steps].join('.')}`
}

/** A field of an object as JSON has it: `Status.Phase` is `status.phase`. */
function fieldName(step: string): string {
  if (step === 'ObjectMeta') return 'metadata'
  return /^[A-Z]+$/.test(step) ? step.toLowerCase() : step.charAt(0).toLowerCase() + step.slice(1)
}
