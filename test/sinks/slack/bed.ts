import slack from '../../../sinks/slack/index.ts'
import type { Content, Message, Outcome, SinkContext, SinkType, Summary } from '../../../src/sink/index.ts'
import { contentOfSummary } from '../../render/content-of-summary.ts'
import type { FakeSlack } from '../../servers/slack.ts'
import { type MessageParts, messageOf, openSink, optionsOf } from '../bed.ts'

export const never = new AbortController().signal

export interface SlackParts extends MessageParts {
  summary?: Partial<Summary>
  content?: Partial<Content>
  /** As it is written in a rule. */
  to?: object
}

/** The options of a rule as the type's schema makes them. */
export async function routeOf(options: object = {}): Promise<unknown> {
  return optionsOf({ config: slack.route } as unknown as SinkType, options)
}

/** A message for Slack that tells what `summary` say. Observed now. */
export function tellOf(parts: SlackParts = {}): Message<any> {
  const event = { time: new Date().toISOString(), ...parts.event }
  const message = messageOf({ ...parts, event }, slack as unknown as SinkType)
  const name = parts.name ?? 'web'
  const summary: Summary = {
    ...message.summary,
    title: `Pod shop/${name} is crash-looping`,
    about: { kind: 'Pod', namespace: 'shop', name },
    severity: 'error',
    ...parts.summary,
  }
  const content = { ...contentOfSummary(summary, slack.escape), ...parts.content }
  Object.defineProperty(message, 'summary', { value: summary })
  Object.defineProperty(message, 'content', { value: content })
  return message as Message<any>
}

/** A sink that writes to the fake. */
export function openSlack(fake: FakeSlack, options: object = {}, context: Partial<SinkContext> = {}) {
  const token = 'url' in options ? {} : { token: fake.token, channel: '#shop', apiUrl: fake.apiUrl }
  return openSink(slack, { ...token, ...options }, { name: 'oncall', ...context })
}

/** Delivers one message after the other until each is settled, as the core does with those that come later. */
export async function deliverAll(
  sink: { deliver(batch: readonly Message<any>[], signal: AbortSignal): Promise<Outcome[]> },
  messages: readonly Message<any>[],
  batchSize = 128,
): Promise<Outcome[]> {
  const outcomes = new Map<Message<any>, Outcome>()
  let waiting = [...messages]
  while (waiting.length > 0) {
    const batch = waiting.slice(0, batchSize)
    const answers = await sink.deliver(batch, never)
    let laterMs = 0
    for (const [i, message] of batch.entries()) {
      const outcome = answers[i] as Outcome
      if (outcome.kind === 'later') laterMs = Math.max(laterMs, outcome.afterMs)
      else if (outcome.kind === 'retry') throw new Error(`retry: ${outcome.detail}`)
      else outcomes.set(message, outcome)
    }
    waiting = waiting.filter((it) => !outcomes.has(it))
    if (laterMs > 0) await new Promise((resolve) => setTimeout(resolve, laterMs))
  }
  return messages.map((it) => outcomes.get(it) as Outcome)
}
