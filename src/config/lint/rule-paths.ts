import { pathsInExpression } from '../rules/cel/paths-in.ts'
import { templateOf } from '../rules/paths/double-star.ts'
import { kindsReached } from './check-reach.ts'
import type { ConfigDocument } from './document.ts'
import type { Draft, RuleDraft } from './draft.ts'
import type { Problem } from './problem.ts'
import { type RulePath, rulePaths } from './rule-paths.ts'
import { titleOf } from './watched-kind.ts'

const OF_PODS =
  /^spec\.(containers|initContainers|volumes|nodeSelector|tolerations|affinity|serviceAccountName)(?![\w-])/

/** Paths of a pod in rules for what only has a template of pods. Sure cases only. */
export function checkContainerPaths(draft: Draft, document: ConfigDocument): Problem[] {
  const rules = new Map(draft.rules.map((rule) => [rule.index, rule]))
  return rulePaths(document, pathsInExpression).flatMap((it) => {
    const [field] = OF_PODS.exec(it.path) ?? []
    const rule = rules.get(it.rule)
    if (field === undefined || !rule || document.at(it.place)?.written !== undefined) return []
    const owner = templateAbove(rule, draft, it.kinds)
    return owner ? [misplaced(it, field, owner, document)] : []
  })
}

interface Owner {
  kind: string
  /** What stands before the `spec` of its pods. */
  template: string
}

/** Undefined when a kind may have such paths, and when its objects have their pods in different places. */
function templateAbove(rule: RuleDraft, draft: Draft, named: readonly string[]): Owner | undefined {
  const reached = kindsReached(rule, draft) ?? []
  if (reached.length === 0 || reached.some(({ builtIn }) => builtIn.length !== 1)) return undefined
  const kinds = reached.map(titleOf)
  const [template, ...others] = new Set([...kinds, ...named].map(templateOf))
  return template && others.length === 0 ? { kind: kinds[0] ?? '', template } : undefined
}

/** Was one of these paths told to stand in the wrong place? The cluster says of it only that there is no such field. */
export function isToldMisplaced(it: Problem, told: readonly Problem[]): boolean {
  return told.some(
    ({ file, line, column, length, message }) =>
      MISPLACED.test(message) &&
      file === it.file &&
      line === it.line &&
      column <= it.column &&
      it.column < column + length,
  )
}

const MISPLACED = /^an? \w+ has no spec\./

function misplaced(
  { path, place, offset, root = offset, atKey }: RulePath,
  field: string,
  { kind, template }: Owner,
  document: ConfigDocument,
): Problem {
  const text = document.at(place)?.value
  const before = typeof text === 'string' ? text.slice(root, offset) : ''
  const length = offset + path.length - root
  return document.problem(place, `a ${kind} has no ${field}`, {
    ...(atKey ? { atKey } : { offset: root, length }),
    hint: `write ${before}${template}${path}`,
    severity: 'warning',
  })
}
