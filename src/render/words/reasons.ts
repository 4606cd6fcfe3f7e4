import type { KubeEvent } from '../../event.ts'
import type { Severity } from '../../sink/index.ts'
import type { Draft } from './told.ts'
import { because, clause } from './wording.ts'

/** An Event, as the tables of reasons see it. */
export interface Said extends Readonly<KubeEvent> {
  /** Of the regarded object. */
  readonly kind: string
  /** The container that it regards; '' when it regards all of it. */
  readonly container: string
}

/** What a reason means: what follows the name in the title, with a severity where the Event's type does not give it. */
export type Meaning =
  | string
  | ((said: Said) => string | Partial<Draft>)
  | readonly [Severity, string | ((said: Said) => string)]

/** `container app`, or what the Event is about without one. */
export function containerOf({ container }: Said, otherwise = 'a container'): string {
  return container === '' ? otherwise : `container ${container}`
}

/** The first group of a pattern in the message; '' when there is none. */
export function found({ message }: Said, pattern: RegExp): string {
  return clause(pattern.exec(message)?.[1] ?? '', 100)
}

/** The image that the message names in quotes. */
export function imageOf(said: Said): string {
  return found(said, /image "([^"]{1,300})"/)
}

/** What follows a name in the title: the phrase, and the message as the reason. */
export function why(phrase: string, strip?: RegExp): (said: Said) => string {
  return ({ message }) => ` ${phrase}${because(strip ? message.replace(strip, '') : message)}`
}
