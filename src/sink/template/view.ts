import type { Subject } from '../message.ts'

/** What templates see; each part is made when it is first looked at. */
export function viewOf(subject: Subject): object {
  const { rule, event } = subject
  return {
    ...event,
    rule,
    get object() {
      return subject.object
    },
    get message() {
      return subject.words
    },
  }
}
