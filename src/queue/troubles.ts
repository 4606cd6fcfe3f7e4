import type { Logger } from '../log.ts'

/** What stands in the way of this process in Redis, besides commits, which have their own (`commit-line.ts`). */
export interface Troubles {
  /** Notes why a part cannot work. It is logged when the part was well before, or when the cause is another one. */
  note(part: string, cause: string): void
  /** The part works again. */
  over(part: string): void
  /** The oldest one with its part; undefined when all is well. */
  first(): string | undefined
}

/** Lanes are parts, too: of very many one stands for all. */
const MOST_KNOWN = 100

export function createTroubles(log: Logger): Troubles {
  const known = new Map<string, string>()
  return {
    note(part, cause) {
      const before = known.get(part)
      if (before === cause || (before === undefined && known.size >= MOST_KNOWN)) return
      known.set(part, cause)
      log.error({ part, error: cause }, 'Redis does not do what kubeherald needs')
    },
    over(part) {
      if (known.delete(part)) log.info({ part }, 'Redis does what kubeherald needs again')
    },
    first() {
      const [oldest] = known
      return oldest && `${oldest[0]}: ${oldest[1]}`
    },
  }
}
