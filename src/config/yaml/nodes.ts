import { type Alias, type Document, isScalar, type Node, type Pair, type Scalar, visit } from 'yaml'
import type { Located, Span } from '../located.ts'
import type { SourceFile } from '../source-file.ts'
import { type ScalarStyle, textPlaces } from '../text-places.ts'

export type NodePair = Pair<Node, Node | null>

export function spanOf(file: SourceFile, node: Node): Span {
  const [start = 0, end = start] = node.range ?? []
  return { file, start, end }
}

/** A key as text; undefined when it is a list or a map. */
export function nameOf(key: unknown): string | undefined {
  if (!isScalar(key)) return undefined
  return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value))
}

export function isMergeKey(key: Node): boolean {
  return isScalar(key) && key.value === '<<' && key.type === 'PLAIN'
}

/** What each alias refers to: the last anchor of that name before it. */
export function targetsIn(document: Document.Parsed): Map<Alias, Node | undefined> {
  const anchors = new Map<string, Node>()
  const targets = new Map<Alias, Node | undefined>()
  visit(document, {
    Alias: (_, node) => void targets.set(node, anchors.get(node.source)),
    Value: (_, node) => {
      if (node.anchor !== undefined) anchors.set(node.anchor, node)
    },
  })
  return targets
}

/** Where the characters of a text stand in the file: read when somebody asks. */
export function placesOf(file: string, node: Scalar, { start }: Span): NonNullable<Located['placeOf']> {
  let places: number[] | undefined
  return (offset) => {
    places ??= textPlaces(file, start, node.type as ScalarStyle, String(node.value)) ?? []
    return places[offset]
  }
}
