import type { Random } from './random.ts'

/**
 * JSON of a value as nobody should write it: keys in any order, spaces, escapes, and keys that are there twice, of which the
 * last counts. JSON.parse reads the same value.
 */
export function hostileJson(value: unknown, random: Random, depth = 0): string {
  if (typeof value === 'string') return hostileString(value, random)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value))
    return `[${value.map((it) => hostileJson(it, random, depth + 1)).join(`${space(random)},`)}]`
  const { next, pick } = random
  const entries = Object.entries(value).filter(([, it]) => it !== undefined)
  const shuffled = entries.map((entry) => ({ entry, at: next() })).sort((a, b) => a.at - b.at)
  const members = shuffled.flatMap(({ entry: [key, it] }) => {
    const member = `${hostileString(key, random)}${space(random)}:${space(random)}${hostileJson(it, random, depth + 1)}`
    // The first metadata is the object's identity.
    const isTwice = next() < 0.03 && key !== 'metadata'
    return isTwice
      ? [`${JSON.stringify(key)}:${pick(['null', '"a"', '{"x":"b"}', '[1]', '7'])}`, member]
      : [member]
  })
  return `{${space(random)}${members.join(`${space(random)},${space(random)}`)}${space(random)}}`
}

function space({ next, pick }: Random): string {
  return next() < 0.02 ? pick([' ', '\t', '\r', '  ']) : ''
}

function hostileString(text: string, { next }: Random): string {
  const plain = JSON.stringify(text)
  if (next() > 0.03) return plain
  return `"${Array.from(text, (char) => [...Array(char.length).keys()].map((i) => unicode(char, i)).join('')).join('')}"`
}

function unicode(char: string, i: number): string {
  return `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`
}
