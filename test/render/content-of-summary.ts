import type { Content, Words } from '../src/sink/index.ts'
import { joinedFields } from '../src/sink/notice.ts'

/** The words as they are, in a sink's markup: what is sent without any template, and without labels of a rule. */
export function contentOfWords(words: Words, inMarkup: (text: string) => string = (it) => it): Content {
  const { severity, title, text, quote, changes, command } = words
  return {
    severity,
    title: inMarkup(title),
    text: inMarkup(text),
    fields: joinedFields(words.fields, []).map((it) => ({
      title: inMarkup(it.title),
      value: inMarkup(it.value),
    })),
    links: [],
    quote,
    changes,
    command,
  }
}
