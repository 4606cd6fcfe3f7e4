import type { ConfigDocument } from './document.ts'
import type { Problem } from './problem.ts'

/** The one problem of a file that is an object for kubectl, perhaps around a configuration. */
export function manifestProblem(document: ConfigDocument): Problem | undefined {
  const keys = document.at([])?.entries
  if (!keys?.has('apiVersion') || !keys.has('kind')) return undefined
  if (['watch', 'sinks', 'rules'].some((key) => keys.has(key))) return undefined
  const kind = keys.get('kind')?.value
  const isShown = typeof kind?.value === 'string' && kind.written === undefined
  const what = isShown && /^[A-Za-z0-9]{1,63}$/.test(String(kind.value)) ? ` (${kind.value})` : ''
  const hint = keys.has('data')
    ? 'give it the text under "data" as a file: that has the keys watch, sinks and rules'
    : 'a configuration has the keys watch, sinks and rules'
  const message = `this is a Kubernetes manifest${what}, and no configuration`
  return document.problem(['apiVersion'], message, { atKey: true, hint })
}
