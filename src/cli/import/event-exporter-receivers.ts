import type { Noted } from './imported.ts'
import {
  channelOf,
  environmentName,
  listOf,
  mapOf,
  notesOf,
  type Raw,
  secretOf,
  textOf,
  trackOptions,
  urlOf,
  withVariables,
} from './source-options.ts'

/** Converts a receiver to a sink. Options that nothing reads become comments. */
export function receiverSink(name: string, receiver: Raw): { sink: Noted<Record<string, unknown>> } {
  const notes: string[] = []
  const [type = 'nothing', ...others] = Object.keys(receiver).filter((key) => key !== 'name')
  const { options, unread } = trackOptions(mapOf(receiver[type]))
  const make = Object.hasOwn(MAKERS, type) ? MAKERS[type] : undefined
  const value = make ? make(options, name, notes) : { type: 'stdout' }
  if (!make) notes.push(`${type} has no counterpart here: stdout replaces it`)
  return { sink: { value, notes: [...notes, ...notesOf([...(make ? unread() : []), ...others])] } }
}

function fieldsOf(fields: Raw, notes: string[]): Record<string, string> | undefined {
  const known = Object.entries(fields).flatMap(([name, template]): [string, string][] => {
    const liquid = liquidOf(textOf(template))
    if (liquid === undefined) notes.push(`the field "${name}" is a Go template that was not carried over`)
    return liquid === undefined ? [] : [[name, liquid]]
  })
  return known.length === 0 ? undefined : Object.fromEntries(known)
}

type Maker = (options: Raw, name: string, notes: string[]) => Record<string, unknown>

const MAKERS: Readonly<Record<string, Maker>> = {
  slack(options, name, notes) {
    const message = textOf(options['message'])
    const title = message === '' ? undefined : liquidOf(message)
    if (message !== '' && title === undefined)
      notes.push(`the message is a Go template that was not carried over: ${message}`)
    const fields = fieldsOf(mapOf(options['fields']), notes)
    return {
      type: 'slack',
      token: secretOf(options['token'], environmentName(name, 'token'), notes),
      channel: channelOf(options['channel'], notes),
      ...((title !== undefined || fields) && {
        messages: { ...(title !== undefined && { title }), ...(fields && { fields }) },
      }),
    }
  },
  webhook: (options, name, notes) => ({
    type: 'webhook',
    url: urlOf(options['endpoint'], environmentName(name, 'url'), notes),
    ...headersOf(options['headers'], name, notes),
  }),
  teams: (options, name, notes) => ({
    type: 'webhook',
    preset: 'teams',
    url: secretOf(options['endpoint'], environmentName(name, 'url'), notes),
  }),
  kafka(options, name, notes) {
    const codec = textOf(options['compressionCodec'])
    const isKnown = ['gzip', 'zstd', 'none'].includes(codec)
    if (codec !== '' && !isKnown) notes.push(`compressionCodec ${codec} was not carried over: gzip is used`)
    const tls = mapOf(options['tls'])
    const sasl = mapOf(options['sasl'])
    return {
      type: 'kafka',
      brokers: listOf(options['brokers']).map(withVariables),
      topic: withVariables(options['topic']),
      ...(isKnown && { compression: codec }),
      ...(tls['enable'] === true && { tls: tlsOf(tls) }),
      ...(sasl['enable'] === true && {
        sasl: {
          mechanism: mechanismOf(textOf(sasl['mechanism']), notes),
          username: withVariables(sasl['username']),
          password: secretOf(sasl['password'], environmentName(name, 'password'), notes),
        },
      }),
    }
  },
  file(options, _name, notes) {
    const path = textOf(options['path'])
    if (!path.startsWith('/')) notes.push('the path must be absolute')
    const [maxSize, maxFiles] = [options['maxsize'], options['maxbackups']]
    return {
      type: 'file',
      path: path.startsWith('/') ? path : `/var/log/kubeherald/${path.replace(/^\.\//, '')}`,
      // The size there is in megabytes.
      ...(isCount(maxSize) && { maxSize: `${maxSize}MB` }),
      ...(isCount(maxFiles) && { maxFiles }),
    }
  },
  pipe: (_options, _name, notes) => {
    notes.push('a pipe becomes standard output')
    return { type: 'stdout', format: 'json' }
  },
  stdout: () => ({ type: 'stdout', format: 'json' }),
  inMemory: () => ({ type: 'stdout', format: 'json' }),
}

function tlsOf(tls: Raw): Record<string, unknown> | true {
  const files = Object.entries({ ca: 'caFile', cert: 'certFile', key: 'keyFile' }).flatMap(
    ([ours, theirs]) => (textOf(tls[theirs]) === '' ? [] : [[ours, `\${file:${textOf(tls[theirs])}}`]]),
  )
  const options = {
    ...Object.fromEntries(files),
    ...(tls['insecureSkipVerify'] === true && { insecureSkipVerify: true }),
  }
  return Object.keys(options).length === 0 ? true : options
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0
}

function mechanismOf(text: string, notes: string[]): string {
  const [, bits] = /sha-?(256|512)/i.exec(text) ?? []
  if (!bits && !/^(plain)?$/i.test(text)) notes.push(`sasl.mechanism ${text} was not carried over`)
  return bits ? `scram-sha-${bits}` : 'plain'
}

/** Header values may be credentials: they become environment variables. */
function headersOf(headers: unknown, name: string, notes: string[]): { headers?: Record<string, string> } {
  const entries = Object.entries(mapOf(headers)).filter(
    ([header]) => !/^(user-agent|content-type)$/i.test(header),
  )
  if (entries.length === 0) return {}
  return {
    headers: Object.fromEntries(
      entries.map(([header, value]) => [header, secretOf(value, environmentName(name, header), notes)]),
    ),
  }
}

/** Paths of event-exporter's templates, and their paths here. */
const PATHS: Readonly<Record<string, string>> = {
  Message: 'event.message',
  Reason: 'event.reason',
  Type: 'event.eventType',
  Count: 'event.count',
  Namespace: 'namespace',
  Name: 'name',
  UID: 'uid',
  ClusterName: 'cluster',
  FirstTimestamp: 'event.firstSeen',
  LastTimestamp: 'event.lastSeen',
  'InvolvedObject.Kind': 'about.kind',
  'InvolvedObject.Name': 'about.name',
  'InvolvedObject.Namespace': 'about.namespace',
  'InvolvedObject.APIVersion': 'event.regarding.apiVersion',
  'InvolvedObject.UID': 'event.regarding.uid',
  'Source.Component': 'event.reportingComponent',
  'Source.Host': 'object.source.host',
}

/** Converts a Go template to Liquid; undefined if it has more than values. */
function liquidOf(template: string): string | undefined {
  let isKnown = true
  const liquid = template.replace(/\{\{((?:(?!\{\{|\}\}).)*)\}\}/gs, (_, inside: string) => {
    const [, path = ''] = /^\.([A-Za-z.]+)$/.exec(inside.replace(/^-|-$/g, '').trim()) ?? []
    const name = Object.hasOwn(PATHS, path) ? PATHS[path] : undefined
    if (name === undefined) isKnown = false
    return `{{ ${name} }}`
  })
  return isKnown && !liquid.includes('{%') ? liquid : undefined
}
