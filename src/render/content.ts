import type { Content, Words } from '../sink/index.ts'

/** The words as they are, in a sink's markup: what is sent without any template. */
export function contentOfWords(words: Words, inMarkup: (text: string) => string = (it) => it): Content {
  const { severity, title, text, fields, quote, changes, command } = words
  return {
    severity,
    title: inMarkup(title),
    text: inMarkup(text),
    fields: fields.map((it) => ({ title: inMarkup(it.title), value: inMarkup(it.value) })),
    links: [],
    quote,
    changes,
    command,
  }
}
