import type { Target } from './target.ts'

const NAMES = /secret|token|passw|api-?key|authorization|credential/i
/** What is shorter occurs by chance. */
const MIN_LENGTH = 5

/** What of a target must be told nowhere: what it names, options that are called so, passwords in URLs. */
export function secretsOf({ options, secrets = [] }: Target): string[] {
  const found = [...secrets, ...textsUnder(options, false)]
  return [...new Set(found)].filter((it) => it.length >= MIN_LENGTH)
}

function textsUnder(value: unknown, isSecret: boolean): string[] {
  if (typeof value === 'string') return [...(isSecret ? [value] : []), ...passwordsIn(value)]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => textsUnder(inner, isSecret || NAMES.test(key)))
}

function passwordsIn(text: string): string[] {
  if (!/^\w+:\/\//.test(text) || !URL.canParse(text)) return []
  return [new URL(text).password]
}

/** The beginning of a secret that stands in a text: whole, cut, or as URLs, JSON and Base64 write it. */
export function leakIn(text: string, secrets: readonly string[]): string | undefined {
  const leak = secrets.find((secret) => formsOf(secret).some((it) => text.includes(it)))
  return leak === undefined ? undefined : `${leak.slice(0, 3)}…`
}

function formsOf(secret: string): string[] {
  const long = [...beginningOf(secret), ...inBase64(secret)].filter((it) => it.length >= MIN_PART)
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), ...long]
}

/** What of a secret no longer occurs by chance, and is too much to be told. */
const MIN_PART = 10

function beginningOf(secret: string): string[] {
  return [secret.slice(0, Math.ceil((secret.length * 2) / 3))]
}

/** How a secret looks in the Base64 of a text around it, such as `user:secret`: as far as only the secret decides. */
function inBase64(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const own = text.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3))
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
}
