import type { KnownObject, ScannedObject, Selection } from '../change.ts'
import { readLabels } from './labels.ts'
import { isInShard } from './shards.ts'

/** How patterns of namespaces and label selectors are read. */
export interface SelectionParts {
  /** Makes a predicate of namespace patterns. */
  matcherOf(patterns: readonly string[]): (namespace: string) => boolean
  /** Makes a predicate of a label selector; throws when it cannot be read. */
  selectorOf(selector: string): (labels: Readonly<Record<string, string>>) => boolean
}

type Test<T> = (object: T) => boolean

/** Returns whether an object's namespace and shard are those of a selection, whatever else it asks. */
export function placeTest(
  { matcherOf }: SelectionParts,
  selection: Selection,
): Test<KnownObject | ScannedObject> {
  const { namespace, namespaces, shard } = selection
  const tests = namespaces?.map(matcherOf)
  return (object) =>
    (namespace === '' || object.namespace === namespace) &&
    (tests === undefined || tests.some((test) => test(object.namespace))) &&
    (shard === undefined || isInShard(object.uid, shard))
}

/** The same with its labels, as far as they are known. */
export function labelTest(parts: SelectionParts, selection: Selection): Test<KnownObject | ScannedObject> {
  const isInPlace = placeTest(parts, selection)
  if (selection.labelSelector === '') return isInPlace
  const test = parts.selectorOf(selection.labelSelector)
  return (object) => isInPlace(object) && test(readLabels(object.labelsJson))
}

/** All of a selection, asked of a whole object. True where it cannot be told. */
export function selectionTest(parts: SelectionParts, selection: Selection): Test<ScannedObject> {
  const isLabelled = labelTest(parts, selection)
  const { fieldSelector } = selection
  if (fieldSelector === '') return isLabelled
  const terms = fieldSelector.split(',').map(fieldTerm)
  return (object) => isLabelled(object) && terms.every((term) => term(object))
}

/** `path=value`, `path==value`, `path!=value`. */
function fieldTerm(term: string): Test<ScannedObject> {
  const [, path = '', operator, value] = /^\s*([^!=\s]+)\s*(!=|==?)\s*(.*?)\s*$/.exec(term) ?? []
  if (operator === undefined) return () => true
  return ({ bytes }) => {
    const found = valueAt(bytes, path)
    // API servers have values of their own for some fields that an object lacks.
    return found === undefined || (found === value) === (operator !== '!=')
  }
}

function valueAt(bytes: Buffer, path: string): string | undefined {
  try {
    let it: unknown = JSON.parse(bytes.toString())
    for (const key of path.split('.')) it = (it as Record<string, unknown> | null | undefined)?.[key]
    return it === undefined || it === null ? undefined : String(it)
  } catch {
    return undefined
  }
}
