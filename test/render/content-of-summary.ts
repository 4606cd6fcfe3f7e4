import type { Content, Summary } from '../../src/sink/index.ts'
import { limitFields } from '../../src/sink/message.ts'

/** The summary as it is, in a sink's markup: what is sent without any template, and without labels of a rule. */
export function contentOfSummary(summary: Summary, inMarkup: (text: string) => string = (it) => it): Content {
  const { severity, title, text, quote, changes, command } = summary
  return {
    severity,
    title: inMarkup(title),
    text: inMarkup(text),
    fields: limitFields(summary.fields, []).map((it) => ({
      title: inMarkup(it.title),
      value: inMarkup(it.value),
    })),
    links: [],
    quote,
    changes,
    command,
  }
}
