import { shorten } from '../sink/template/filters/shorten.ts'

/** Ever less of a value, until it fits. */
const STEPS = [
  { text: 4_000, entries: 1_000 },
  { text: 500, entries: 100 },
  { text: 100, entries: 20 },
]
const MAX_DEPTH = 40

/**
 * The object as it is when it fits into so many bytes. Else the same object with long texts shortened and long lists and maps
 * cut; in the end, what names it alone.
 */
export function boundedJson(json: Buffer, maxBytes: number): Buffer {
  if (json.length <= maxBytes) return json
  let object: unknown
  try {
    object = JSON.parse(json.toString())
  } catch {
    return Buffer.from('{}')
  }
  for (const step of STEPS) {
    const less = Buffer.from(JSON.stringify(cut(object, step, 0)))
    if (less.length <= maxBytes) return less
  }
  return Buffer.from(JSON.stringify(cut(nameOf(object), STEPS[2] as Step, 0)))
}

type Step = (typeof STEPS)[number]

function cut(value: unknown, step: Step, depth: number): unknown {
  if (typeof value === 'string') return shorten(value, step.text)
  if (typeof value !== 'object' || value === null) return value
  if (depth === MAX_DEPTH) return null
  if (Array.isArray(value)) return value.slice(0, step.entries).map((it) => cut(it, step, depth + 1))
  const entries = Object.entries(value).slice(0, step.entries)
  return Object.fromEntries(entries.map(([key, it]) => [shorten(key, 317), cut(it, step, depth + 1)]))
}

function nameOf(object: unknown): object {
  const { apiVersion, kind, metadata } = (object ?? {}) as Record<string, unknown>
  const { namespace, name, uid, resourceVersion } = (metadata ?? {}) as Record<string, unknown>
  return { apiVersion, kind, metadata: { namespace, name, uid, resourceVersion } }
}
