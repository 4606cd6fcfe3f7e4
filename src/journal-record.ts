import type { Source, Transition } from './change.ts'

/** What happened to one object, before rules, as the journal keeps it. */
export interface JournalRecord extends Omit<Transition, 'object' | 'old'> {
  source: JournalSource
  /** The object (trimmed, Secret values hashed) as JSON; of a deletion that nobody saw what is known of it. */
  objectJson: Buffer
}

/** What of a watch its events need. */
export type JournalSource = Pick<Source, 'key' | 'title' | 'resource' | 'clusterUid' | 'spelling' | 'custom'>

/** How much is kept. */
export interface JournalBounds {
  keepMs: number
  maxBytes: number
}
