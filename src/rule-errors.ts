import type { RuleStatus } from './status.ts'

/** How often rules failed since the process started, and how they did last. */
export interface RuleErrors {
  note(rule: string, error: unknown): void
  /** For the rules of a configuration, in their order; of others nothing is known any more. */
  statuses(rules: readonly { name: string }[]): RuleStatus[]
}

const MOST_CHARACTERS = 300

export function createRuleErrors(): RuleErrors {
  const known = new Map<string, { errors: number; lastError: string }>()
  return {
    note(rule, error) {
      const message = error instanceof Error ? error.message : String(error)
      const errors = (known.get(rule)?.errors ?? 0) + 1
      known.set(rule, { errors, lastError: message.slice(0, MOST_CHARACTERS) })
    },
    statuses(rules) {
      if (known.size > 0) {
        const names = new Set(rules.map(({ name }) => name))
        for (const rule of known.keys()) if (!names.has(rule)) known.delete(rule)
      }
      return rules.map(({ name }) => ({ rule: name, ...known.get(name) }))
    },
  }
}
