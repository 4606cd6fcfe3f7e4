import { pathsInExpression } from '../../rules/cel/part.ts'
import { templateOf } from '../../rules/kind.ts'
import type { ConfigDocument, Path } from '../document.ts'
import type { Draft, RuleDraft } from '../partial-config.ts'
import type { Problem } from '../problem.ts'
import { kindsReached } from './reach.ts'
import { titleOf } from './watched-kind.ts'

const OF_PODS =
  /^spec\.(containers|initContainers|volumes|nodeSelector|tolerations|affinity|serviceAccountName)(?![\w-])/

/** Paths of a Pod in rules for kinds that have a template of Pods; only certain cases. */
export function checkMisplacedPaths(draft: Draft, document: ConfigDocument): Problem[] {
  const rules = new Map(draft.rules.map((rule) => [rule.index, rule]))
  return rulePaths(document).flatMap((it) => {
    const [field] = OF_PODS.exec(it.path) ?? []
    const rule = rules.get(it.rule)
    if (field === undefined || !rule || document.at(it.place)?.written !== undefined) return []
    const owner = templateAbove(rule, draft, it.kinds)
    return owner ? [misplaced(it, field, owner, document)] : []
  })
}

/** The values of these maps are texts: a step below one of them exists in no object. */
const FLAT = /^(data|binaryData|stringData)\.([\w-]+(?:\.[\w-]+)+)$/

/** Paths into ConfigMaps and Secrets by keys with dots, which need brackets. In expressions these are errors at run time. */
export function checkDottedKeys(draft: Draft, document: ConfigDocument): Problem[] {
  const rules = new Map(draft.rules.map((rule) => [rule.index, rule]))
  return rulePaths(document).flatMap(({ rule: index, path, place, atKey, root }) => {
    const [, map, key] = FLAT.exec(path) ?? []
    const rule = rules.get(index)
    if (map === undefined || root !== undefined || !rule || document.at(place)?.written !== undefined)
      return []
    const reached = kindsReached(rule, draft) ?? []
    const areFlat = reached.every(
      ({ builtIn }) => builtIn.length === 1 && /^(ConfigMap|Secret)$/.test(builtIn[0]?.kind ?? ''),
    )
    if (reached.length === 0 || !areFlat) return []
    const message = `this path has several keys below ${map}, whose values are texts`
    return document.problem('dotted-key', place, message, {
      ...(atKey ? { atKey } : { offset: 0, length: path.length }),
      hint: `write ${map}["${key}"]`,
      severity: 'warning',
    })
  })
}

interface Owner {
  kind: string
  /** The path of its pods' template. */
  template: string
}

/** Returns undefined if a kind may have such paths, or the kinds have their pods in different places. */
function templateAbove(rule: RuleDraft, draft: Draft, named: readonly string[]): Owner | undefined {
  const reached = kindsReached(rule, draft) ?? []
  if (reached.length === 0 || reached.some(({ builtIn }) => builtIn.length !== 1)) return undefined
  const kinds = reached.map(titleOf)
  const [template, ...others] = new Set([...kinds, ...named].map(templateOf))
  return template && others.length === 0 ? { kind: kinds[0] ?? '', template } : undefined
}

/** Returns whether a path is reported as misplaced already; the cluster only knows that there is no such field. */
export function isReportedMisplaced(it: Problem, reported: readonly Problem[]): boolean {
  return reported.some(
    ({ code, file, line, column, length }) =>
      code === 'misplaced-path' &&
      file === it.file &&
      line === it.line &&
      column <= it.column &&
      it.column < column + length,
  )
}

function misplaced(
  { path, place, offset, root = offset, atKey }: RulePath,
  field: string,
  { kind, template }: Owner,
  document: ConfigDocument,
): Problem {
  const text = document.at(place)?.value
  const before = typeof text === 'string' ? text.slice(root, offset) : ''
  const length = offset + path.length - root
  return document.problem('misplaced-path', place, `a ${kind} has no ${field}`, {
    ...(atKey ? { atKey } : { offset: root, length }),
    hint: `write ${before}${template}${path}`,
    severity: 'warning',
  })
}

/** A path of fields in a rule, and its position. */
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

/** Returns the paths in rules that name their kinds, and not by patterns. */
export function rulePaths(document: ConfigDocument): RulePath[] {
  return [...(document.at(['rules'])?.items ?? []).keys()].flatMap((rule) => {
    const kinds = textsAt(document, ['rules', rule, 'when', 'kind']).map(({ text }) => text)
    if (kinds.length === 0 || kinds.some((kind) => /[*?!]|^\//.test(kind))) return []
    const listed = ['changed', 'unchanged'].flatMap((key) =>
      textsAt(document, ['rules', rule, key]).map(({ text, path }) => ({
        path: text,
        place: path,
        offset: 0,
      })),
    )
    const mapped = ['from', 'to-state'].flatMap((key) =>
      [...(document.at(['rules', rule, key])?.entries?.keys() ?? [])].map((text) => {
        return { path: text, place: ['rules', rule, key, text], offset: 0, atKey: true }
      }),
    )
    const selected = textsAt(document, ['rules', rule, 'if']).flatMap(({ text, path: place }) =>
      pathsInExpression(text).map((it) => ({ ...it, place })),
    )
    return [...listed, ...mapped, ...selected].map((it) => ({ rule, kinds, ...it }))
  })
}

function textsAt(document: ConfigDocument, path: Path): { text: string; path: Path }[] {
  const found = document.at(path)
  const items = found?.items?.map((item, i) => ({ value: item.value, path: [...path, i] })) ?? []
  return [...items, ...(found && !found.items ? [{ value: found.value, path }] : [])].flatMap((it) =>
    typeof it.value === 'string' ? [{ text: it.value, path: it.path }] : [],
  )
}
