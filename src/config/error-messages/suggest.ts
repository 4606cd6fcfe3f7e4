import { nearest } from '../../text/closest-match.ts'

/**
 * Maximum number of mistakes for which a name is suggested, and of names that a mistake is compared with: a file may have as many names
 * as mistakes.
 */
const MAX_SUGGESTED = 100
const MAX_NAMES = 5_000

/** `suggest` for a list of names that the file gives itself: the first mistakes get a hint. */
export function suggester(): typeof suggest {
  let left = MAX_SUGGESTED
  return (word, known, what) =>
    left-- > 0 && known.length <= MAX_NAMES ? suggest(word, known, what) : undefined
}

/** `did you mean "x"?`, or what there is to choose from; undefined when that would be no help. */
export function suggest(word: string, known: readonly string[], what = 'known'): string | undefined {
  const near = nearest(word, known)
  if (near !== undefined) return `did you mean "${near}"?`
  return known.length > 0 && known.length <= 12 ? `${what}: ${known.join(', ')}` : undefined
}
