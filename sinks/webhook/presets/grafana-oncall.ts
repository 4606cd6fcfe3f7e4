import { targetFault } from './answers.ts'
import { boundedKey, cutLog, fence, isOver, partsOf, subjectKey } from './parts.ts'
import type { MessagePreset } from './preset.ts'

const APART = '\u200b'

/** OnCall passes a message on to chats: without these, nothing in it mentions anybody. */
function inert(text: string): string {
  return text.replace(/[<@*_`[\]]/g, (it) => `${it}${APART}`)
}

const MARKUP = { escape: inert }

/** A formatted webhook of Grafana OnCall or Grafana IRM. One object and rule is one alert group, which is resolved when it is over. */
export const grafanaOncall: MessagePreset = {
  markup: MARKUP,
  // An integration takes 300 alerts in 5 minutes.
  concurrency: 1,
  maxBytes: 100_000,
  body(message, _options, cut) {
    const { event, rule, summary } = message
    const parts = partsOf(message, MARKUP)
    const blocks = [
      cut(parts.text, 2_000),
      parts.fields.map(({ title, value }) => `${cut(title, 100)}: ${cut(value, 400)}`).join('\n'),
      parts.quote && fence(cut(parts.quote, 2_000)),
      parts.logs && fence(cutLog(parts.logs, 4_000, cut)),
      parts.changes && fence(cut(parts.changes, 1_000)),
      parts.command && fence(cut(parts.command, 500)),
    ]
    return {
      alert_uid: boundedKey(`${subjectKey(message)}/${rule}`, 255),
      title: cut(parts.title, 250),
      state: isOver(message) ? 'ok' : 'alerting',
      message: blocks.filter(Boolean).join('\n\n'),
      ...(parts.links[0] && { link_to_upstream_details: parts.links[0].url }),
      severity: parts.severity,
      cluster: event.cluster,
      namespace: summary.about.namespace ?? '',
      rule,
      id: message.id,
    }
  },
  // The key is that of another type of integration.
  answer: (reply) => targetFault(reply, /This url is for integration/),
}
