import type { startRedis } from '../servers/redis.ts'

/** One line of the table: what was measured, against what, in the same run. */
export interface Result {
  ours: string
  yardstick: string
  ratio?: number
  target: string
  met: boolean
}

export interface BenchContext {
  /** How many pairs are measured; the median of their ratios counts. */
  pairs: number
  /** How long a soak takes. */
  minutes: number
  startRedis: typeof startRedis
}

export interface Row {
  /** For `--only`. */
  name: string
  title: string
  measure(context: BenchContext): Promise<Result>
}
