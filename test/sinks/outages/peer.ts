import type { SinkType } from '../../../src/sink/index.ts'

/** A way to fail that every sink must survive. */
export const FAULTS = [
  'unreachable',
  'refuses',
  'hangs',
  'cuts mid-answer',
  'throttles',
  'wrong credentials',
] as const
export type FaultName = (typeof FAULTS)[number]

/** A peer of a sink that can fail in each of these ways. */
export interface Peer extends AsyncDisposable {
  type: string
  /** In place of the built-in one. */
  sinkType?: SinkType
  /** The sink's section of the configuration that reaches it. */
  options(): object
  /** What credentials that are wrong make of it; undefined for peers without any. */
  wrongOptions?(): object
  /** Faults that this peer cannot have, and why. */
  without?: Readonly<Partial<Record<FaultName, string>>>
  begin(fault: FaultName): Promise<void> | void
  /** Ends every fault. */
  mend(): Promise<void> | void
  /** `name@resourceVersion` of everything that it took, in the order of each object; repeats too. */
  took(): Promise<readonly string[]>
}
