import { shorten } from '../sink/template/filters/shorten.ts'

/** That of the longest name in Kubernetes. */
const MAX_TEXT = 253

export function boundedText(text: string): string {
  return shorten(text, MAX_TEXT)
}

/** The same map, its texts shortened. */
export function boundedTexts<Texts extends object>(texts: Texts): Texts {
  return Object.fromEntries(
    Object.entries(texts).map(([key, value]) => [
      key,
      typeof value === 'string' ? boundedText(value) : value,
    ]),
  ) as Texts
}
