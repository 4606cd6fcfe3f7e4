import type { LimitName, RuleCounts } from '../limit.ts'

type Counts = { -readonly [Key in keyof RuleCounts]: RuleCounts[Key] } & {
  suppressed: Partial<Record<LimitName, number>>
}

/** Changes of the counts of rules. Each match ends in exactly one of sent, digested and suppressed; until then it waits. */
export class Book {
  readonly #rules = new Map<string, Counts>()

  get rules(): ReadonlyMap<string, RuleCounts> {
    return this.#rules
  }

  count(rule: string, what: 'matched' | 'sent' | 'digested' | 'waiting' | 'notices', by = 1): void {
    this.#of(rule)[what] += by
  }

  suppress(rule: string, limit: LimitName, by = 1): void {
    const { suppressed } = this.#of(rule)
    suppressed[limit] = (suppressed[limit] ?? 0) + by
  }

  #of(rule: string): Counts {
    let counts = this.#rules.get(rule)
    if (!counts) {
      counts = { matched: 0, sent: 0, digested: 0, waiting: 0, suppressed: {}, notices: 0 }
      this.#rules.set(rule, counts)
    }
    return counts
  }
}
