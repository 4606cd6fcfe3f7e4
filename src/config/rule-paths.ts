import type { ConfigDocument, Path } from './document.ts'

/** A path of fields that a rule asks for, and where it stands. */
export interface RulePath {
  rule: number
  /** The kinds that the rule names, as written. */
  kinds: readonly string[]
  /** `spec.template.spec.containers.*.image` */
  path: string
  place: Path
  /** Where it begins in the text of the place; the key itself when `atKey`. */
  offset: number
  atKey?: boolean
  /** Where `object` begins before it, in an expression. */
  root?: number
}

/** Reads the paths of a CEL expression: each with where it begins. */
export type ExpressionPaths = (
  expression: string,
) => readonly { path: string; offset: number; root?: number }[]

const NO_PATHS: ExpressionPaths = () => []

/** All paths of rules that name their kinds one by one, and not by patterns. */
export function rulePaths(document: ConfigDocument, expressionPaths: ExpressionPaths = NO_PATHS): RulePath[] {
  return [...(document.at(['rules'])?.items ?? []).keys()].flatMap((rule) => {
    const kinds = textsAt(document, ['rules', rule, 'when', 'kind']).map(({ text }) => text)
    if (kinds.length === 0 || kinds.some((kind) => /[*?!]|^\//.test(kind))) return []
    const common = { rule, kinds }
    const listed = ['changed', 'unchanged'].flatMap((key) =>
      textsAt(document, ['rules', rule, key]).map(({ text, path }) => ({
        ...common,
        path: text,
        place: path,
        offset: 0,
      })),
    )
    const mapped = ['from', 'to-state'].flatMap((key) =>
      [...(document.at(['rules', rule, key])?.entries?.keys() ?? [])].map((text) => ({
        ...common,
        path: text,
        place: ['rules', rule, key, text],
        offset: 0,
        atKey: true,
      })),
    )
    const [expression] = textsAt(document, ['rules', rule, 'if'])
    const selected = expression
      ? expressionPaths(expression.text).map((it) => ({ ...common, ...it, place: expression.path }))
      : []
    return [...listed, ...mapped, ...selected]
  })
}

function textsAt(document: ConfigDocument, path: Path): { text: string; path: Path }[] {
  const found = document.at(path)
  const items = found?.items?.map((item, i) => ({ value: item.value, path: [...path, i] })) ?? []
  return [...items, ...(found && !found.items ? [{ value: found.value, path }] : [])].flatMap((it) =>
    typeof it.value === 'string' ? [{ text: it.value, path: it.path }] : [],
  )
}
