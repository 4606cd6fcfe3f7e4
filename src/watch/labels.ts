export type Labels = Readonly<Record<string, string>>

const MOST = 1_000
const LONGEST = 2_000
const known = new Map<string, Labels>()

/** Labels as they stand in an object. The same ones come with each of its changes, and with those of its replicas: they are read once. */
export function readLabels(json: string): Labels {
  const found = known.get(json)
  if (found) return found
  const labels = Object.freeze(strings(JSON.parse(json)))
  if (json.length > LONGEST) return labels
  if (known.size >= MOST) known.clear()
  known.set(json, labels)
  return labels
}

/** A map without prototype: a label may be called `constructor`. */
export function strings(value: unknown): Record<string, string> {
  const map = Object.create(null) as Record<string, string>
  for (const [key, text] of Object.entries(value ?? {})) if (typeof text === 'string') map[key] = text
  return map
}
