import type { Bench } from './bench.ts'

/** A check with a target of its own; throws what is wrong, or that it is skipped. */
export type CheckBody = (bench: Bench) => Promise<void> | void
