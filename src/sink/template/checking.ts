import type { TemplateProblem } from './fault.ts'
import type { LiquidLibrary } from './liquid.ts'

/** What is checked, and where it goes. */
export interface Checking {
  library: LiquidLibrary
  source: string
  /** Names that the template gives itself. */
  locals: ReadonlySet<string>
  report(problem: TemplateProblem): void
}

/** A token of the engine, with what those that we look into have. */
export interface Token {
  kind: number
  begin: number
  end: number
  content?: unknown
  operator?: string
  variable?: Token | undefined
  props?: readonly Token[]
  lhs?: Token
  rhs?: Token
}

export function spanOf({ begin, end }: { begin: number; end: number }): { offset: number; length: number } {
  return { offset: begin, length: Math.max(1, end - begin) }
}

export function textAt({ source }: Checking, { begin, end }: Token): string {
  return source.slice(begin, end)
}
