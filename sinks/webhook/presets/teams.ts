import type { Severity } from '../../../src/sink/index.ts'
import { targetFault } from './answers.ts'
import { cardMarkup, cardText, cutLog, partsOf, plainOf } from './parts.ts'
import type { MessagePreset } from './preset.ts'

const STYLES: Readonly<Record<Severity, string>> = {
  error: 'attention',
  warning: 'warning',
  info: 'accent',
  resolved: 'good',
}
const MAX_FACTS = 12
const MAX_ACTIONS = 5

/** An Adaptive Card for a Teams workflow ("when a webhook request is received"). */
export const teams: MessagePreset = {
  markup: cardMarkup,
  concurrency: 4,
  maxBytes: 28 * 1_024,
  body(message, _options, cut) {
    const parts = partsOf(message, cardMarkup)
    const facts = parts.fields.slice(0, MAX_FACTS).map(({ title, value }) => ({
      title: cut(title, 100),
      value: cut(value, 400),
    }))
    const body = [
      {
        type: 'Container',
        style: STYLES[parts.severity],
        bleed: true,
        items: [block(cut(parts.title, 500), { weight: 'Bolder', size: 'Medium' })],
      },
      parts.text && block(cut(parts.text.replace(/\n+/g, '\n\n'), 3_000)),
      facts.length > 0 && { type: 'FactSet', facts },
      parts.quote && code(cut(parts.quote, 3_000)),
      parts.logs && code(cutLog(parts.logs, 4_000, cut)),
      parts.changes && code(cut(parts.changes, 2_000)),
      parts.command && code(cut(parts.command, 500)),
      block(cut(cardText(parts.source), 300), { size: 'Small', isSubtle: true }),
    ].filter(Boolean)
    const actions = parts.links
      .slice(0, MAX_ACTIONS)
      .map(({ title, url }) => ({ type: 'Action.OpenUrl', title: cut(plainOf(title), 60), url }))
    const card = {
      $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
      type: 'AdaptiveCard',
      version: '1.4',
      msteams: { width: 'Full' },
      fallbackText: cut(plainOf(parts.title), 300),
      body,
      ...(actions.length > 0 && { actions }),
    }
    const attachment = {
      contentType: 'application/vnd.microsoft.card.adaptive',
      contentUrl: null,
      content: card,
    }
    return { type: 'message', attachments: [attachment] }
  },
  // The workflow is deleted or switched off, which Power Automate does by itself where nobody uses it; or it is not one for cards.
  answer: (reply) => targetFault(reply, /WorkflowTriggerIsNotEnabled|TriggerInputSchemaMismatch/),
}

function block(text: string, look: object = {}) {
  return { type: 'TextBlock', text, wrap: true, ...look }
}

/** Runs of text know no markup at all. */
function code(text: string) {
  return { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text, fontType: 'Monospace', size: 'Small' }] }
}
