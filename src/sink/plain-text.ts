/**
 * Returns a function that removes marks in pairs around a text of one line, such as `*bold*`: what is between them stays. A mark within
 * a word, or next to a space, is a character like others. It takes time in proportion to the text. Marks
 * are of characters such as `*`, `_`, `~` and backticks.
 */
export function markRemover(marks: readonly string[]): (text: string) => string {
  // `**a *b* c**`: the inner ones are shorter.
  const pairs = marks.toSorted((a, b) => a.length - b.length).map(pairOf)
  return (text) => pairs.reduce((rest, pair) => rest.replace(pair, '$1'), text)
}

function pairOf(mark: string): RegExp {
  const one = mark.charAt(0)
  const whole = [...mark].map((it) => `[${it}]`).join('')
  const word = `\\p{L}\\p{N}${one}`
  return new RegExp(
    `(?<![${word}])${whole}(?=[^\\s${one}])([^${one}\\n]*[^${one}\\s])${whole}(?![${word}])`,
    'gu',
  )
}
