import type { SourceStore } from '../change.ts'
import { startFormerLimits } from './former-limits.ts'
import { type LimitTimersParts, startLimitTimers } from './limit-timers.ts'

export interface LimitsParts extends Omit<LimitTimersParts, 'hasLimits'> {
  store: SourceStore
  generations: { readonly current: { hasLimits: boolean; ruleNames: ReadonlySet<string> } }
}

/** What limits need besides commits: shared states are decided in time, and what nobody follows any more is counted as gone. */
export function startLimits(parts: LimitsParts): { close(): Promise<void> } {
  const { generations } = parts
  const { timing: _, ...others } = parts
  const timers = startLimitTimers({ ...parts, hasLimits: () => generations.current.hasLimits })
  const former = startFormerLimits({ ...others, rules: () => [...generations.current.ruleNames] })
  return { close: async () => void (await Promise.all([timers.close(), former.close()])) }
}
