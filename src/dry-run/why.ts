import type { ClusterEvent } from '../event.ts'
import type { DryRun } from './dry-run.ts'
import { shownValue } from './shown-value.ts'
import type { Step } from './step.ts'
import type { Watched } from './watched.ts'

/** What kept a rule from matching the events of a test: each condition that did not hold, once. */
export function whyNot(rule: string, steps: readonly Step[], run: DryRun): string[] {
  const lines = steps.flatMap((step) => {
    if (step.kind !== 'event' || !step.fate || step.fate.rules.some((it) => it.rule === rule)) return []
    const { asked } = run.ask(rule, step.event)
    const all = asked.filter(({ holds }) => !holds)
    // A rule for other kinds need not say what else is not so.
    const missed = all[0]?.name === 'kind' ? all.slice(0, 1) : all
    if (missed.length === 0) return endedBy(rule, step.fate.rules, run)
    return missed.map(({ name, expected, seen, error }) =>
      error === undefined
        ? `${rule}  ✗ ${name}  ${shownValue(expected, 60)}  seen: ${shownValue(seen)}`
        : `${rule}  ✗ ${name}  failed: ${shownValue(error, 200)}`,
    )
  })
  return [...new Set(lines)]
}

/** Its conditions hold, and yet it did not match. */
function endedBy(
  rule: string,
  fates: readonly { rule: string; fate: string }[],
  { generation }: DryRun,
): string[] {
  const { rules } = generation.config
  const ending = fates.find((it) => {
    const config = rules.find(({ name }) => name === it.rule)
    return it.fate !== 'failed' && (config?.drop === true || config?.continue === false)
  })
  if (!ending) return []
  const verb = ending.fate === 'dropped' ? 'drops the event' : 'ends with continue: false'
  return [`${rule} is not asked: ${ending.rule}, above it, ${verb}`]
}

/** Why rules never see an event. */
export function whyUnwatched(watched: Watched, { kind }: ClusterEvent): string[] {
  if (watched.entry !== undefined) return []
  const [first] = watched.kinds
  if (!first) return [`no entry of "watch" is for ${shownValue(kind)}, so rules never see it`]
  const { key, expected, seen } = first
  return [
    `"watch" has ${shownValue(kind)} with ${key} ${shownValue(expected)}, and this has ${shownValue(seen)}: rules never see it`,
  ]
}
