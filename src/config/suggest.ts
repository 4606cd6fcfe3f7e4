import { nearest } from '../nearest.ts'

export { nearest }

/** `did you mean "x"?`, or what there is to choose from; undefined when that would be no help. */
export function suggest(word: string, known: readonly string[], what = 'known'): string | undefined {
  const near = nearest(word, known)
  if (near !== undefined) return `did you mean "${near}"?`
  return known.length > 0 && known.length <= 12 ? `${what}: ${known.join(', ')}` : undefined
}
