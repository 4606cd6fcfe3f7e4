import type { Content, Field, FieldChange } from '../sink/index.ts'

/** What a reader has seen already, in the sink's markup. */
type Shown = Pick<Content, 'title' | 'text'>

/** Numbers as titles have them: `5 restarts`, `3rd back-off`, `12 times`. */
const COUNTS: Readonly<Record<string, RegExp>> = {
  Count: /(?<![\w.])(\d+)(?: times?\b|(?:st|nd|rd|th) back)/,
  Restarts: /(?<![\w.])(\d+)(?:st|nd|rd|th)? restarts?\b/,
}

/** Returns the fields, in the sink's markup, whose value neither title nor text contains. */
export function withoutRepeated(fields: readonly Field[], { title, text }: Shown): Field[] {
  const shown = `${title}\n${text}`
  return fields.filter((field) =>
    /^\d+$/.test(field.value)
      ? COUNTS[field.title]?.exec(shown)?.[1] !== field.value
      : !containsPhrase(shown, field.value),
  )
}

/** Returns the quote, or '' if title or text contains all of it. `inMarkup` escapes for the sink. */
export function quoteUnless(
  quote: string,
  { title, text }: Shown,
  inMarkup: (text: string) => string,
): string {
  if (quote.length > MAX_REPEATED) return quote
  const literal = sameText(quote).replace(/\.$/, '')
  return containsPhrase(sameText(`${title}\n${text}`), inMarkup(literal)) ? '' : quote
}

/** Longer than any text that a title contains. */
const MAX_REPEATED = 500

/** The parts of a condition that explain its status. */
const EXPLANATION = /^status\.conditions\[[^\]]*\]\.(?:reason|message)$/

/**
 * Returns the changes without explanations of conditions that are shown already. When a kubelet stops, each condition of its
 * Node gets the same reason and message.
 */
export function changesOnce(
  changes: readonly FieldChange[],
  { title, text, quote, fields }: Shown & Pick<Content, 'quote' | 'fields'>,
  inMarkup: (text: string) => string,
): readonly FieldChange[] {
  const seen = new Set([quote, ...fields.map(({ value }) => value)].map(sameText))
  const shown = `${title}\n${text}`
  return changes.filter((change) => {
    if (!EXPLANATION.test(change.path)) return true
    const texts = [change.old, change.new].flatMap((it) => (typeof it === 'string' && it !== '' ? [it] : []))
    const isRepeated = texts.some((it) => seen.has(sameText(it)) || containsPhrase(shown, inMarkup(it)))
    for (const it of texts) seen.add(sameText(it))
    return !isRepeated
  })
}

function sameText(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** A value further down is not in sight. */
const MAX_SEARCHED = 4_000

/** Whether a text contains a phrase that is not part of a longer name; the case does not matter. */
function containsPhrase(text: string, phrase: string): boolean {
  if (phrase.trim() === '' || phrase.length > MAX_REPEATED) return false
  const [whole, part] = [text.slice(0, MAX_SEARCHED).toLowerCase(), phrase.toLowerCase()]
  for (let at = whole.indexOf(part); at >= 0; at = whole.indexOf(part, at + 1)) {
    const after = at + part.length
    const begins = at === 0 || !/[\w./:@-]/.test(whole.charAt(at - 1))
    if (begins && !/^(?:[\w/@-]|[.:]\w)/.test(whole.slice(after, after + 2))) return true
  }
  return false
}
