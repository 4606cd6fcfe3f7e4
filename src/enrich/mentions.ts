/** What one rule asks of the surroundings of an event. */
export interface Mentions {
  namespaceLabels: boolean
  /** Controllers above the object. */
  owner: boolean
  /** The top controller, of an Event that above the object which it is about. */
  topOwner: boolean
  regardingLabels: boolean
  regardingOwner: boolean
}

/**
 * Reads a rule as it is written, so that keys of any room count: conditions, what limits count by, CEL, templates, of which
 * `beside` holds those that do not stand in the rule. A text in CEL that looks like a question is taken for one.
 */
export function mentionsOf(rule: object, beside?: unknown): Mentions {
  const { when = {}, if: condition, message } = rule as { when?: object; if?: unknown; message?: unknown }
  const { regarding = {}, owner, namespaceLabels } = mapOf(when)
  const asked = mapOf(regarding)
  const counted = countedBy(rule)
  const cel = typeof condition === 'string' ? condition : ''
  const templates = [message, beside].flatMap(textsIn).flatMap((text) => text.match(TAG) ?? [])
  return {
    namespaceLabels:
      namespaceLabels !== undefined ||
      counted.some((it) => it.startsWith('namespaceLabels.')) ||
      /\bnamespaceLabels\b/.test(cel),
    owner: owner !== undefined,
    topOwner: counted.includes('owner') || [cel, ...templates].some((it) => EVENT_OWNER.test(it)),
    regardingLabels:
      asked['labels'] !== undefined ||
      counted.some((it) => it.startsWith('regarding.labels.')) ||
      REGARDING_LABELS.test(cel),
    regardingOwner:
      asked['owner'] !== undefined ||
      counted.includes('regarding.owner') ||
      [cel, ...templates].some((it) => REGARDING_OWNER.test(it)),
  }
}

/** What a template fills in or decides. */
const TAG = /\{\{[^}]*\}{0,2}|\{%[^}]*\}?/g
/** `.name`, `.?name`, `["name"]` behind a variable. */
const MEMBER = String.raw`\s*(?:\.\s*\??|\[\s*\??\s*["'])\s*`
const EVENT_OWNER = new RegExp(String.raw`\bevent${MEMBER}owner`)
const REGARDING_LABELS = new RegExp(String.raw`\bregarding\b["'\]]*${MEMBER}labels`)
const REGARDING_OWNER = new RegExp(String.raw`\bregarding\b["'\]]*${MEMBER}owner`)

/** All that limits of the rule count by: `per` and `by`, whatever the limit is called. */
function countedBy(rule: object): string[] {
  return Object.values(rule).flatMap((limit) => {
    const { per, by } = mapOf(limit)
    return [per, by].flat().filter((it) => typeof it === 'string')
  })
}

function mapOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}
