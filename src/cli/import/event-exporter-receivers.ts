import { liquidOf, severityOf } from './go-template.ts'
import { entryOf, type ImportedSink } from './imported.ts'
import {
  basicOf,
  channelOf,
  headersOf,
  isSecretKey,
  originOf,
  type SinkMaker,
  type SinkNotes,
  secretOf,
  tlsOf,
  urlOf,
} from './sink-options.ts'
import { isOn, listOf, mapOf, pathsOf, type Raw, takeUnread, textOf } from './tracked.ts'

/** Converts a receiver to a sink. A receiver without a counterpart is a disabled sink. */
export function receiverSink(name: string, receiver: Raw): ImportedSink {
  const types = Object.keys(receiver).filter((key) => key !== 'name')
  const type = Object.keys(RECEIVERS).find((it) => types.includes(it)) ?? types[0] ?? 'nothing'
  const options = mapOf(receiver[type])
  const sink = { name, ...entryOf<Record<string, unknown>>({ type }) }
  const make = Object.hasOwn(RECEIVERS, type) ? RECEIVERS[type] : undefined
  if (make) {
    sink.value = make(options, sink)
    sink.lost.push(...takeUnread(options).map((key) => lostOption(key)))
  } else {
    sink.off.push(
      `kubeherald has no sink for the receiver "${type}", which had ${pathsOf(options).join(', ')}`,
    )
  }
  sink.lost.push(...takeUnread(receiver).map((key) => `the receiver's second type, ${key}`))
  return sink
}

function lostOption(key: string): string {
  const effect = Object.hasOwn(EFFECTS, key) ? `: ${EFFECTS[key]}` : ''
  return key + effect
}

/** What happens without an option, where that is not expected. */
const EFFECTS: Readonly<Record<string, string>> = {
  'tls.insecureSkipVerify': 'certificates are always checked; tls.ca takes the authority',
  compressionCodec: 'gzip is used',
  avro: 'JSON is sent',
  deDot: 'keys keep their dots',
}

/** One entry for each type, in the order in which kubernetes-event-exporter chooses among several. */
const RECEIVERS: Readonly<Record<string, SinkMaker>> = {
  pipe: (options, notes) => {
    withoutLayout(options, notes)
    if (textOf(options['path']) !== '/dev/stdout') notes.off.push('a pipe other than /dev/stdout')
    return { type: 'stdout', format: 'json' }
  },
  webhook: (options, notes) => webhook(options, notes),
  file(options, notes) {
    const path = textOf(options['path'])
    withoutLayout(options, notes)
    if (path === '/dev/stdout') return { type: 'stdout', format: 'json' }
    if (!path.startsWith('/')) notes.notes.push(`the path was relative: ${path}`)
    if (path.startsWith('/tmp/')) notes.notes.push(TEMPORARY)
    const { maxsize: maxSize, maxbackups: maxBackups, maxage: maxAge } = options
    // 0 is the default there.
    const isSet = (limit: unknown) => (limit ?? 0) !== 0
    const keepsAll = !isSet(maxBackups) && !isSet(maxAge)
    if (isSet(maxAge)) notes.lost.push('maxage: maxFiles limits the full files')
    if (keepsAll) notes.notes.push(KEPT)
    const maxFiles = keepsAll ? MOST_FILES : maxBackups
    return {
      type: 'file',
      path: path.startsWith('/') ? path : `/var/log/kubeherald/${path.replace(/^\.\//, '')}`,
      // The size there is in megabytes.
      ...(isCount(maxSize) && { maxSize: `${maxSize}MB` }),
      ...(isCount(maxFiles) && { maxFiles }),
    }
  },
  stdout(options, notes) {
    withoutLayout(options, notes)
    return { type: 'stdout', format: 'json' }
  },
  elasticsearch: (options, notes) => elasticsearch(options, notes),
  opensearch: (options, notes) => elasticsearch(options, notes),
  opsgenie(options, notes) {
    const address = options['URL']
    const hasScheme = /^https?:/.test(textOf(address))
    const url = isText(address) ? urlOf(hasScheme ? address : `https://${address}`, notes) : ''
    const messages = templates({ title: options['message'], text: options['description'] }, notes)
    return {
      type: 'opsgenie',
      apiKey: secretOf(options['apiKey'], 'key', notes),
      // An Event that is new opens an alert; nothing closed it there.
      action: 'open',
      ...(url !== '' && { url }),
      ...(Object.keys(messages).length > 0 && { messages }),
    }
  },
  loki(options, notes) {
    const entries = Object.entries(mapOf(options['streamLabels'])).map(([label, it]) => [label, textOf(it)])
    const labels = entries.filter(([, text]) => !text?.includes('{{'))
    for (const [label, text] of entries.filter((it) => !labels.includes(it)))
      notes.lost.push(`streamLabels.${label} ${text}: labels are constant`)
    return {
      type: 'loki',
      ...requestOf(options['url'], options, notes),
      ...(labels.length > 0 && { labels: Object.fromEntries(labels) }),
      body: bodyOf(options, notes),
    }
  },
  slack(options, notes) {
    const channel = channelOf(options['channel'], notes)
    const liquid = liquidOf(channel)
    if (channel.includes('{{'))
      notes.off.push('the channel is a template: list under allowChannels the channels that it may choose')
    const messages = slackMessages(options, notes)
    return {
      type: 'slack',
      token: secretOf(options['token'], 'token', notes),
      channel: liquid ?? channel,
      ...(Object.keys(messages).length > 0 && { messages }),
    }
  },
  kafka(options, notes) {
    const codec = textOf(options['compressionCodec'])
    if (codec === 'snappy') notes.lost.push('compressionCodec snappy: gzip is used')
    const hasLayout = withoutLayout(options, notes)
    const [tls, sasl] = [mapOf(options['tls']), mapOf(options['sasl'])]
    const clientId = textOf(options['clientId'])
    return {
      type: 'kafka',
      ...(clientId !== '' && { clientId }),
      brokers: listOf(options['brokers']).map(textOf),
      topic: textOf(options['topic']),
      ...(!hasLayout && { format: 'object' }),
      ...(codec !== '' && codec !== 'snappy' && { compression: codec }),
      ...(isEnabled(tls, 'tls', notes) && { tls: kafkaTls(tls) }),
      ...(isEnabled(sasl, 'sasl', notes) && {
        sasl: {
          mechanism: mechanismOf(textOf(sasl['mechanism'])),
          username: textOf(sasl['username']),
          password: secretOf(sasl['password'], 'password', notes),
        },
      }),
    }
  },
  teams(options, notes) {
    const headers = headersOf(options['headers'], notes)
    return {
      type: 'webhook',
      preset: 'teams',
      url: secretOf(options['endpoint'], 'url', notes),
      ...(Object.keys(headers).length > 0 && { headers }),
    }
  },
}

/** The largest `maxFiles`. */
const MOST_FILES = 10_000
const KEPT = 'there all full files were kept: a smaller maxFiles bounds what the disk must hold'
const TEMPORARY =
  'in the chart and the kustomization /tmp is a volume of 64 MiB that ends with the pod: choose a path on a volume that stays'

function webhook(options: Raw, notes: SinkNotes): Record<string, unknown> {
  return { type: 'webhook', ...requestOf(options['endpoint'], options, notes), body: bodyOf(options, notes) }
}

/** The address, headers and certificates. TLS is for https only. */
function requestOf(address: unknown, options: Raw, notes: SinkNotes): Record<string, unknown> {
  const url = urlOf(address, notes)
  const headers = headersOf(options['headers'], notes)
  const tls = /^http:/.test(url) ? undefined : tlsOf(mapOf(options['tls']), TLS)
  return { url, ...(Object.keys(headers).length > 0 && { headers }), ...(tls && { tls }) }
}

/** Without a layout the receiver got the Event itself. */
function bodyOf(options: Raw, notes: SinkNotes): unknown {
  const { layout } = options
  if (Object.keys(mapOf(layout)).length > 0) return layoutBody(layout, 'layout', notes)
  notes.notes.push(SAME_EVENT)
  return WHOLE_EVENT
}

function elasticsearch(options: Raw, notes: SinkNotes): Record<string, unknown> {
  const [host, ...others] = listOf(options['hosts'])
  if (others.length > 0) notes.lost.push(`hosts ${others.map(originOf).join(', ')}: one address is used`)
  const hasKey = textOf(options['apiKey']) !== ''
  const { headers, ...request } = requestOf(host, options, notes)
  const key = hasKey && { Authorization: `ApiKey ${secretOf(options['apiKey'], 'key', notes)}` }
  const auth = hasKey ? undefined : basicOf(options['username'], options['password'], notes)
  const format = textOf(options['indexFormat'])
  const daily = dailyIndex(format)
  if (daily === undefined) notes.lost.push(`indexFormat ${format}: this format of times has no counterpart`)
  const index = format === '' ? textOf(options['index']) : (daily ?? '')
  return {
    type: 'elasticsearch',
    ...request,
    ...((headers || key) && { headers: { ...(headers as object), ...key } }),
    ...(auth && { auth }),
    ...(index !== '' && { index }),
    body: bodyOf(options, notes),
  }
}

/** Elements of Go's format of times, the longer ones first, and what they are in strftime. */
const GO_TIME: Readonly<Record<string, string>> = {
  2006: '%Y',
  '002': '%j',
  '06': '%y',
  '01': '%m',
  '02': '%d',
  15: '%H',
  '04': '%M',
  '05': '%S',
}
const GO_ELEMENTS = new RegExp(Object.keys(GO_TIME).join('|'), 'g')

/** `events-{2006-01-02}`: what is in braces is Go's format of times. Undefined for a format with other elements. */
function dailyIndex(format: string): string | undefined {
  const layouts = [...format.matchAll(/\{([^{}]*)\}/g)].map(([, layout = '']) => layout)
  if (layouts.some((it) => /[\dA-Z]/.test(it.replaceAll(GO_ELEMENTS, '')))) return undefined
  return format.replace(/\{([^{}]*)\}/g, (_, layout: string) => {
    const date = layout.replaceAll(GO_ELEMENTS, (it) => GO_TIME[it] ?? it)
    return `{{ time | date: "${date}" }}`
  })
}

const TLS = { ca: 'caFile', cert: 'certFile', key: 'keyFile', servername: 'serverName' }
const WHOLE_EVENT = '{{ object | as_is }}'
const SAME_EVENT =
  'the body is the Event, as before, but without clusterName and the labels of its object; without "body" it is a CloudEvent'

/** Converts a tree of Go templates. Returns undefined for a part that has no counterpart, and adds its path to `lost`. */
function layoutBody(value: unknown, path: string, notes: SinkNotes): unknown {
  if (Array.isArray(value))
    return value.map((it, i) => layoutBody(it, `${path}[${i}]`, notes)).filter((it) => it !== undefined)
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, it]) => [key, layoutBody(it, `${path}.${key}`, notes)])
    return Object.fromEntries(entries.filter(([, it]) => it !== undefined))
  }
  if (typeof value !== 'string') return value
  const text = textOf(value)
  const [key = ''] = /[^.]*$/.exec(path) ?? []
  const isLiteral = !text.includes('{{') && !text.includes('${env:')
  if (text !== '' && isLiteral && isSecretKey(key)) return secretOf(value, key, notes)
  const liquid = liquidOf(text)
  if (liquid === undefined) notes.lost.push(`${path}, whose template has no counterpart: ${value}`)
  else if (/\{\{ object\b/.test(liquid))
    notes.notes.push(`${path} has the Event without clusterName and the labels of its object`)
  return liquid
}

/** Returns whether the receiver had a layout, which this sink cannot have. */
function withoutLayout(options: Raw, { lost, notes }: SinkNotes): boolean {
  const { layout } = options
  const hasLayout = Object.keys(mapOf(layout)).length > 0
  if (hasLayout) lost.push(`layout: a CloudEvent is sent, without ${pathsOf(layout).join(', ')}`)
  else if (!('brokers' in options))
    notes.push('it gets a CloudEvent for each Event, whose data.object is the Event')
  return hasLayout
}

/** Converts a template; undefined for an empty one and one without a counterpart, which is added to `lost`. */
function converted(key: string, text: string, { lost }: SinkNotes): string | undefined {
  const liquid = liquidOf(text)
  if (liquid === undefined) lost.push(`${key}, whose template has no counterpart: ${text}`)
  return liquid?.trim() || undefined
}

function templates(parts: Readonly<Record<string, unknown>>, notes: SinkNotes): Record<string, string> {
  const entries = Object.entries(parts).map(([key, value]) => [key, converted(key, textOf(value), notes)])
  return Object.fromEntries(entries.filter(([, it]) => it !== undefined))
}

/** The text became the title, or title and text; the attachment's title comes first. */
function slackMessages(options: Raw, notes: SinkNotes): Record<string, unknown> {
  const convert = (key: string, text: string) => converted(key, text, notes)
  const message = convert('message', textOf(options['message'])) ?? ''
  // A tag may span several lines.
  const [first = '', ...rest] = message.includes('{%') ? ['', message] : message.split('\n')
  const given = convert('title', textOf(options['title']))
  const title = given ?? first
  const text = given === undefined ? rest.join('\n').trim() : [first, ...rest].join('\n').trim()
  const fields = Object.entries(mapOf(options['fields'])).flatMap(([name, template]) => {
    const liquid = convert(`the field ${name}`, textOf(template))
    return liquid === undefined ? [] : [[name, liquid]]
  })
  const colour = textOf(options['color'])
  const severity = severityOf(colour)
  if (severity === undefined) notes.lost.push(`color ${colour}`)
  return {
    ...(title !== '' && { title }),
    ...(text !== '' && { text }),
    ...(severity && { severity }),
    ...(fields.length > 0 && { fields: Object.fromEntries(fields) }),
  }
}

function isEnabled(options: Raw, name: string, { notes }: SinkNotes): boolean {
  const { enable } = options
  if (isOn(enable)) return true
  if (takeUnread(options).length > 0) notes.push(`${name} was not enabled there: left out`)
  return false
}

function kafkaTls(tls: Raw): Record<string, unknown> | true {
  const { servername: _, ...keys } = TLS
  const options = {
    ...tlsOf(tls, keys),
    ...(isOn(tls['insecureSkipVerify']) && { insecureSkipVerify: true }),
  }
  return Object.keys(options).length === 0 ? true : options
}

function mechanismOf(text: string): string {
  const [, bits] = /^(?:scram-)?sha-?(256|512)$/i.exec(text) ?? []
  return bits ? `scram-sha-${bits}` : text === '' ? 'plain' : text
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0
}
