import { createHash } from 'node:crypto'
import {
  laneByObject,
  type Outcome,
  type Routed,
  type Template,
  TemplateFault,
} from '../../src/sink/index.ts'
import type { KafkaConfig, KafkaRoute } from './config.ts'
import { topicNameFault } from './topic-name.ts'

/** Where a change goes, by the rule's options or else the sink's. */
export interface Addressed {
  topic: string
  key: string
  state: boolean
  format: KafkaConfig['format']
}

/** Bytes; a longer key ends in a hash of all of it, so that equal keys stay equal. */
const MAX_KEY = 512

/** The topic and key of a change, or why it has none. */
export function addressed(
  subject: Routed<KafkaRoute>,
  config: Pick<KafkaConfig, 'topic' | 'key' | 'state' | 'format'>,
): Addressed | Outcome {
  const { route, event } = subject
  const template = route.topic ?? config.topic
  if (!template) return misconfigured(`no topic: set it in the sink, or in rule "${subject.rule}"`)
  const state = route.state ?? config.state
  const format = route.format ?? config.format
  if (state && subject.notice?.kind === 'digest')
    return rejected(
      'config',
      `rule "${subject.rule}" tells digests, which are no state of an object: leave out its group or state`,
    )
  if (state && format === 'structured')
    return misconfigured(`rule "${subject.rule}" has state: true, which cannot go with format: structured`)
  try {
    const topic = render(template, subject)
    const fault = topicNameFault(topic)
    if (fault !== undefined)
      return rejected('config', `${JSON.stringify(topic.slice(0, 300))} is no topic name: ${fault}`)
    const own = route.key ?? config.key
    const key = own ? render(own, subject) : state ? `${event.cluster}/${event.uid}` : event.uid
    if (key === '')
      return rejected('config', `the key "${own?.source.slice(0, 200) ?? ''}" is empty for this object`)
    return { topic, key: bounded(key), state, format }
  } catch (error) {
    if (error instanceof TemplateFault) return rejected('render', error.message)
    throw error
  }
}

/** `<topic>.<0–15>`: a topic that fails delays its own lanes alone, and one key's records stay in one. */
export function laneOf(subject: Routed<KafkaRoute>, config: KafkaConfig): string {
  const place = addressed(subject, config)
  if ('kind' in place) return `@.${laneByObject(subject.event)}`
  return `${place.topic}.${laneByObject({ uid: place.key })}`
}

function render(template: Template, subject: Routed<KafkaRoute>): string {
  return template.constant ? template.source : template.render(subject).trim()
}

function bounded(key: string): string {
  const bytes = Buffer.from(key)
  if (bytes.length <= MAX_KEY) return key
  const hash = createHash('sha256').update(bytes).digest('hex')
  return `${bytes.toString('utf8', 0, MAX_KEY - hash.length - 5).replace(/\ufffd+$/, '')}#${hash}`
}

function rejected(reason: 'config' | 'render', detail: string): Outcome {
  return { kind: 'rejected', reason, detail }
}

function misconfigured(detail: string): Outcome {
  return { kind: 'retry', reason: 'config', detail, scope: 'target' }
}
