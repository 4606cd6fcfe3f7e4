import { checkArchive } from './check-archive.ts'
import { checkCommas } from './check-commas.ts'
import { checkContainerPaths } from './check-container-paths.ts'
import { checkDoubtfulIfs } from './check-doubtful-ifs.ts'
import { checkExpressions } from './check-expressions.ts'
import { checkLimitKeys } from './check-limits.ts'
import { checkMissingFields } from './check-missing-fields.ts'
import { checkReach } from './check-reach.ts'
import { checkReasons } from './check-reasons.ts'
import { checkRules, checkUnusedSinks } from './check-rules.ts'
import { checkSelectors } from './check-selectors.ts'
import { checkShadow } from './check-shadow.ts'
import { checkStates } from './check-states.ts'
import { checkWatch } from './check-watch.ts'
import type { ConfigDocument } from './document.ts'
import type { Draft } from './draft.ts'
import type { Problem } from './problem.ts'

/** What no schema sees: names that must exist, texts that must compile, parts that must fit together. */
export function crossCheck(draft: Draft, document: ConfigDocument): Problem[] {
  return [
    ...checkWatch(draft, document),
    ...checkRules(draft, document),
    ...checkCommas(draft, document),
    ...checkExpressions(draft, document),
    ...checkSelectors(draft, document),
    ...checkShadow(draft, document),
    ...checkReach(draft, document),
    ...checkMissingFields(draft, document),
    ...checkDoubtfulIfs(draft, document),
    ...checkContainerPaths(draft, document),
    ...checkReasons(draft, document),
    ...checkStates(draft, document),
    ...checkLimitKeys(draft, document),
    ...checkArchive(draft, document),
    ...checkUnusedSinks(draft, document),
  ]
}
