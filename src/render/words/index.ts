import type { EventHeader } from '../../event.ts'
import type { Words } from '../../sink/index.ts'

/** What words are made of. */
export interface Told {
  readonly event: EventHeader
  readonly object: Readonly<Record<string, unknown>>
}

const VERBS = { ADDED: 'was created', MODIFIED: 'changed', DELETED: 'was deleted' } as const

/** Tells what happened, in plain text, for any kind of object. Pure. */
export function wordsOf({ event }: Told): Words {
  const { kind, namespace, name, type } = event
  const title = `${kind} ${namespace ? `${namespace}/` : ''}${name} ${VERBS[type]}`
  return {
    severity: 'info',
    title,
    text: '',
    about: { kind, name, ...(namespace !== undefined && { namespace }) },
    fields: [],
    quote: event.event?.message ?? '',
    changes: event.changes ?? [],
    command: '',
  }
}
