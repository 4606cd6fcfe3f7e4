import { channelOf } from './channel.ts'
import { liquidOf } from './go-template.ts'
import type { Noted } from './imported.ts'
import { environmentName, secretOf, urlOf, withVariables } from './names.ts'
import { listOf, mapOf, type Raw, textOf } from './read.ts'
import { notesOf, trackOptions } from './unread.ts'

/** What stands for one of its receivers. */
export function receiverSink(name: string, receiver: Raw): { sink: Noted<Record<string, unknown>> } {
  const notes: string[] = []
  const [type = 'nothing', ...others] = Object.keys(receiver).filter((key) => key !== 'name')
  const { options, unread } = trackOptions(mapOf(receiver[type]))
  const make = Object.hasOwn(MAKERS, type) ? MAKERS[type] : undefined
  const value = make ? make(options, name, notes) : { type: 'stdout' }
  if (!make)
    notes.push(`${type} has no counterpart here: this prints instead; a webhook or a topic may lead there`)
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
  webhook(options, name, notes) {
    if (options['layout'])
      notes.push(
        'layout was not carried over: what is sent is a CloudEvent; "body" and "format: template" make another',
      )
    return {
      type: 'webhook',
      url: urlOf(options['endpoint'], environmentName(name, 'url'), notes),
      ...headersOf(options['headers'], name, notes),
    }
  },
  teams(options, name, notes) {
    return {
      type: 'webhook',
      preset: 'teams',
      url: secretOf(options['endpoint'], environmentName(name, 'url'), notes),
    }
  },
  kafka(options, name, notes) {
    if (options['layout']) notes.push('layout was not carried over: what is sent is a CloudEvent')
    if (options['avro']) notes.push('avro was not carried over: what is sent is JSON')
    const codec = textOf(options['compressionCodec'])
    const isKnown = ['gzip', 'zstd', 'none'].includes(codec)
    if (codec !== '' && !isKnown)
      notes.push(`compressionCodec ${codec} was not carried over: gzip is used; see "compression"`)
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
    if (options['layout']) notes.push('layout was not carried over: each line is a CloudEvent')
    if (isCount(options['maxage']))
      notes.push('maxage was not carried over: maxFiles limits how many full files are kept')
    return {
      type: 'file',
      path: path.startsWith('/') ? path : `/var/log/kubeherald/${path.replace(/^\.\//, '')}`,
      // Both count full files; the size there is in megabytes.
      ...(isCount(options['maxsize']) && { maxSize: `${options['maxsize']}MB` }),
      ...(isCount(options['maxbackups']) && { maxFiles: options['maxbackups'] }),
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

/** Headers may be credentials: their values go into the environment. */
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
