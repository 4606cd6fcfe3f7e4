import type { Message, Severity } from '../../../src/sink/index.ts'
import { targetFault } from './answers.ts'
import type { PresetOptions } from './options.ts'
import { boundedKey, type Cut, cutLog, isOver, partsOf, subjectKey } from './parts.ts'
import { type MessagePreset, withPath } from './preset.ts'

const MAX_ALIAS = 512
const MAX_MESSAGE = 130
const MAX_DESCRIPTION = 15_000
const MAX_ENTITY = 512
const MAX_NOTE = 25_000
const PRIORITIES: Readonly<Record<Severity, string>> = {
  error: 'P2',
  warning: 'P3',
  info: 'P5',
  resolved: 'P5',
}
/** The path of each action behind that of the alert. */
const PATHS = { note: 'notes', acknowledge: 'acknowledge', close: 'close' } as const

type Action = 'open' | keyof typeof PATHS

/** The alert API of Opsgenie, version 2, which Jira Service Management has, too. One object and rule is one alert. */
export const opsgenie: MessagePreset = {
  markup: {},
  concurrency: 4,
  maxBytes: 200_000,
  url: () => new URL('https://api.opsgenie.com'),
  target(base, { options, message }) {
    const url = withPath(base, '/v2/alerts')
    const action = message ? actionOf(message, options) : 'open'
    if (!message || action === 'open') return url
    url.pathname += `/${encodeURIComponent(aliasOf(message))}/${PATHS[action]}`
    url.searchParams.set('identifierType', 'alias')
    return url
  },
  headers: ({ apiKey = '' }) => ({ authorization: `GenieKey ${apiKey}` }),
  // What is not a UUID is not a key; a key that nobody has is 401.
  answer: (reply) => targetFault(reply, /Key format is not valid/i, [422]),
  body(message, options, cut) {
    const action = actionOf(message, options)
    const { about } = message.summary
    const parts = partsOf(message)
    const source = cut(`kubeherald ${message.event.cluster}`, 100)
    const text = [parts.headline, parts.text, parts.quote].filter(Boolean).join('\n')
    if (action !== 'open') return { source, note: cut(text, MAX_NOTE) }
    return {
      message: cut(parts.headline, MAX_MESSAGE),
      alias: aliasOf(message),
      description: describe(message, cut),
      entity: cut([about.namespace, about.kind, about.name].filter(Boolean).join('/'), MAX_ENTITY),
      source,
      priority: PRIORITIES[parts.severity],
      tags: [parts.severity, message.rule].map((it) => cut(it, 50)),
      details: detailsOf(message, cut),
    }
  },
}

function actionOf(message: Message, { action = 'auto' }: PresetOptions): Action {
  if (action !== 'auto') return action as Action
  return isOver(message) ? 'close' : 'open'
}

function aliasOf(message: Message): string {
  return boundedKey(`${subjectKey(message)}/${message.rule}`, MAX_ALIAS)
}

function describe(message: Message, cut: Cut): string {
  const parts = partsOf(message)
  const blocks = [
    cut(parts.text, 4_000),
    cut(parts.quote, 6_000),
    cutLog(parts.logs, 6_000, cut),
    cut(parts.changes, 2_000),
    cut(parts.command, 500),
    ...parts.links.map(({ title, url }) => cut(`${title}: ${url}`, 1_000)),
  ]
  return cut(blocks.filter(Boolean).join('\n\n'), MAX_DESCRIPTION)
}

/** At most 8,000 characters together. */
function detailsOf(message: Message, cut: Cut): Record<string, string> {
  const { event, rule, labels, summary } = message
  const { about } = summary
  const fields = partsOf(message).fields.map(({ title, value }) => [cut(title, 60), cut(value, 400)])
  const ours = Object.entries(labels).map(([title, value]) => [cut(title, 60), cut(value, 200)])
  return Object.fromEntries([
    ...fields,
    ...ours.slice(0, 8),
    ...(event.event ? [['Reason', cut(event.event.reason, 400)]] : []),
    ['cluster', event.cluster],
    ['namespace', about.namespace ?? ''],
    ['kind', about.kind],
    ['name', cut(about.name, 253)],
    ['rule', rule],
    ['id', cut(message.id, 300)],
  ])
}
