import type { EventHeader, FieldChange } from '../../event.ts'
import type { Field, Severity, Subject } from '../../sink/index.ts'

/** What words are made of. */
export interface Told {
  readonly event: EventHeader
  readonly object: Readonly<Record<string, unknown>>
  readonly rule?: string
  readonly notice?: NonNullable<Subject['notice']>
}

/** What is to be said, before names are put in front and lengths are bounded. */
export interface Draft {
  readonly severity: Severity
  /** What follows the name in the title: `is ready`, or `: container app failed`. */
  readonly says: string
  /** In place of the name and what it says. */
  readonly title?: string
  readonly text?: string
  /** Lines of text, behind it. */
  readonly lines?: readonly string[]
  /** Those with an empty value are left out. */
  readonly fields?: readonly Field[]
  readonly quote?: string
  /** Instead of the kind's own. */
  readonly command?: string
}

/** How one kind of object is told. Each part may say nothing; the generic one speaks then. */
export interface Teller {
  /** What is wrong with it as it stands. */
  trouble?(told: Told): Draft | undefined
  /** What somebody wanted of it: the changes of its spec. */
  wanted?(told: Told, changes: readonly FieldChange[]): Draft | undefined
  /** What became of it: its status, with the changes where they are known. */
  state?(told: Told): Draft | undefined
  /** It has a deletionTimestamp, but is still there. */
  ending?(told: Told): Draft
  /** A sentence about a new one. */
  created?(told: Told): string
  fields?(told: Told): readonly Field[]
  command?(told: Told): string
  /** What may be shown of the changes. */
  shown?(changes: readonly FieldChange[]): readonly FieldChange[]
}
