import type { Config } from '../config/schema.ts'
import type { ClusterEvent } from '../event.ts'
import { type ConditionReport, explainRules } from '../rules/explain.ts'
import { isPlainMap } from './plain.ts'

/** One thing that a rule asks, and what it found. */
export interface Asked {
  /** As the rule has it, without `when`: `regarding.kind`. */
  name: string
  /** What the rule says there. */
  expected: unknown
  /** Undefined when it is not there, or not known. */
  seen: string | undefined
  holds: boolean
  /** Why it could not be answered. */
  error?: string
}

/** All that a rule asks of an event; nothing is left out because something before it did not hold. */
export interface AskedRule {
  /** Can it match objects of this kind at all? */
  ofKind: boolean
  asked: readonly Asked[]
}

/** Asks the rules of a configuration, each by itself. */
export function askRules({ rules, written }: Config): (rule: string, event: ClusterEvent) => AskedRule {
  const list = written?.['rules']
  const sources = new Map(
    (Array.isArray(list) ? list : []).filter(isPlainMap).map((source) => [source['name'], source]),
  )
  const asking = new Map(
    rules.map((rule) => {
      const source = sources.get(rule.name) ?? rule
      return [rule.name, { source, explain: explainRules([rule], () => source) }]
    }),
  )
  return (name, event) => {
    const { source, explain } = asking.get(name) ?? {}
    const [report] = explain?.(event) ?? []
    if (!report) return { ofKind: false, asked: [] }
    return {
      ofKind: report.outcome !== 'for other kinds',
      asked: oneOfEach(report.conditions).map(({ path, expected, seen, holds, error }) => ({
        name: path.slice(path[0] === 'when' ? 1 : 0).join('.'),
        expected: valueAt(source, path) ?? expected,
        seen,
        holds,
        ...(error !== undefined && { error }),
      })),
    }
  }
}

/** A key may stand for several conditions: of one that does not hold, the first that does not is told. */
function oneOfEach(reports: readonly ConditionReport[]): readonly ConditionReport[] {
  const known = new Map<string, ConditionReport>()
  for (const report of reports) {
    const key = JSON.stringify(report.path)
    const other = known.get(key)
    if (!other || (other.holds && !report.holds)) known.set(key, report)
  }
  return [...known.values()]
}

function valueAt(source: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((at, key) => {
    if (Array.isArray(at)) return at[Number(key)]
    return isPlainMap(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }, source)
}
