import type { SinkContext } from '../context.ts'

/** A peer for a sink under test: a fake server, a file, a stream. Each check starts one of its own. */
export interface Target {
  /** The sink's section of the configuration that reaches it, as YAML would say it, without `type`. */
  options: object
  /**
   * The ids of all messages that it got, in the order in which they came: repeats too, and those that it refused or did not
   * answer. `idsIn` finds them in texts.
   */
  received(): readonly string[] | Promise<readonly string[]>
  faults?: Faults
  /** What must appear in no outcome, log line or metric, besides the options whose names say so (`secret`, `token` …). */
  secrets?: readonly string[]
  /** Forgets what it got: what a target keeps would look like a leak of the sink. */
  forget?(): void
  stop(): Promise<void> | void
}

/** What can go wrong with the peer; checks that need a fault that is not here are skipped. */
export interface Faults {
  /** It cannot be reached, or turns everything down for now. Echo secrets here if your peer might. */
  refuse?(): Promise<void> | void
  /** It takes what comes, and never answers. */
  hang?(): Promise<void> | void
  /** It turns down, for now, the message with this id, and takes all others. */
  refuseOne?(id: string): Promise<void> | void
  /** All is well again; what hung may be cut. */
  restore(): Promise<void> | void
}

export interface Setup {
  start(): Promise<Target> | Target
  /** What a rule says for this sink, as in `to: [{ oncall: … }]`. Default `{}`. */
  route?: object
  /** Parts of the context that the sink is opened with. */
  context?: Partial<SinkContext>
  /** How long a batch may take to get through when nothing is wrong, pacing included. Default 15,000. */
  patienceMs?: number
  /** Checks that this sink need not pass, by name, with why: they are skipped. */
  excused?: Readonly<Record<string, string>>
}
