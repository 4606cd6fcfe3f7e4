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

/** The beginning of a secret that stands in a text, also as URLs and JSON write it. */
export function leakIn(text: string, secrets: readonly string[]): string | undefined {
  const leak = secrets.find((secret) =>
    [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)].some((it) => text.includes(it)),
  )
  return leak === undefined ? undefined : `${leak.slice(0, 3)}…`
}
