import { type Need, type Right, VERBS } from './right.ts'

/** Each right once; one that a wider one includes is left to that. Sorted. */
export function mergeRights(rights: readonly Right[]): Right[] {
  const merged: Right[] = []
  // The widest first, so that whatever includes a right is there before it.
  for (const right of rights.toSorted((a, b) => widthOf(b) - widthOf(a))) {
    const wider = merged.findIndex((it) => includes(it, right))
    if (wider === -1) merged.push(right)
    else merged[wider] = { ...merged[wider]!, needs: allNeeds(merged[wider]!, right) }
  }
  return merged.sort(compare)
}

function widthOf({ namespace, name }: Right): number {
  return (namespace === undefined ? 2 : 0) + (name === undefined ? 1 : 0)
}

function includes(wide: Right, narrow: Right): boolean {
  return (
    wide.group === narrow.group &&
    wide.resource === narrow.resource &&
    wide.verb === narrow.verb &&
    (wide.namespace === undefined || wide.namespace === narrow.namespace) &&
    (wide.name === undefined || wide.name === narrow.name)
  )
}

/** In the order of the configuration: its entries first, what they share behind them. */
function allNeeds(a: Right, b: Right): Need[] {
  const needs = [...a.needs, ...b.needs]
  const unique = needs.filter(({ what }, i) => needs.findIndex((it) => it.what === what) === i)
  return unique.sort((a, b) => byNumber.compare(a.what, b.what))
}

function compare(a: Right, b: Right): number {
  return (
    byText(a.namespace ?? '', b.namespace ?? '') ||
    byText(a.group, b.group) ||
    byText(a.resource, b.resource) ||
    byText(a.name ?? '', b.name ?? '') ||
    VERBS.indexOf(a.verb) - VERBS.indexOf(b.verb)
  )
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** `watch[10]` comes behind `watch[2]`. */
const byNumber = new Intl.Collator('en', { numeric: true })
