import { contradictionIn } from '../rules/contradiction.ts'
import { compileSelector } from '../rules/selector.ts'
import type { ConfigDocument, Path } from './document.ts'
import type { Draft } from './draft.ts'
import type { Problem } from './problem.ts'

/** Selectors that ask of one key what no value is. */
export function checkSelectors({ watch, rules }: Draft, document: ConfigDocument): Problem[] {
  return [
    ...watch.flatMap(({ index, labels }) => check(labels, ['watch', index, 'labels'], document)),
    ...rules.flatMap(({ index, sound: { labels, annotations, namespaceLabels, regarding } }) => [
      ...check(labels, ['rules', index, 'when', 'labels'], document),
      ...check(annotations, ['rules', index, 'when', 'annotations'], document),
      ...check(namespaceLabels, ['rules', index, 'when', 'namespaceLabels'], document),
      ...check(regarding?.labels, ['rules', index, 'when', 'regarding', 'labels'], document),
    ]),
  ]
}

function check(selector: unknown, path: Path, document: ConfigDocument): Problem[] {
  if (typeof selector !== 'string' || !compileSelector(selector, { anyValue: true }).ok) return []
  const found = contradictionIn(selector)
  if (!found) return []
  const isShown = document.at(path)?.written === undefined
  const message = `matches nothing: all its conditions must hold, and those for ${isShown ? `"${found.key}"` : 'one key'} exclude each other`
  const hint = isShown ? found.hint : undefined
  return [document.problem(path, `"${String(path.at(-1))}" ${message}`, { hint, severity: 'warning' })]
}
