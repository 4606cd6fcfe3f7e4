import type { Message } from './message.ts'
import type { Template } from './template/template.ts'

/** The store of threads does not answer: nothing is known of them. */
export class StoreFault extends Error {
  override name = 'StoreFault'
}

/** Resolves to what a call of the store gives. Throws StoreFault where the call rejects. */
export async function fromStore<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw new StoreFault('the store of threads (Redis) does not answer', { cause: error })
  }
}

/** Returns the group of a message's thread: by the rule's or the sink's groupBy, else the group of a digest, else the object. */
export function threadGroupOf(
  message: Message<{ groupBy?: Template | undefined }>,
  groupBy: Template | undefined,
): string {
  const text = groupByOf(message, groupBy)
  if (text !== undefined) return `by:${text}`
  const { notice } = message
  if (notice?.kind === 'digest')
    return `digest:${[message.event.cluster, message.rule, JSON.stringify(notice.by)].join('/')}`
  const { kind, namespace = '', name } = message.summary.about
  return [message.event.cluster, kind, namespace, name].join('/')
}

/** Returns the text of the rule's or the sink's groupBy; undefined where there is none, or its text is empty. */
export function groupByOf(
  message: Message<{ groupBy?: Template | undefined }>,
  groupBy: Template | undefined,
): string | undefined {
  return (message.route?.groupBy ?? groupBy)?.render(message).trim() || undefined
}

/** Returns whether the thread ends: the problem is resolved or the object deleted. The expiry of an Event does not end it. */
export function endsThread({ event, content, notice }: Message): boolean {
  if (notice) return notice.kind === 'resolved' || content.severity === 'resolved'
  return content.severity === 'resolved' || (event.type === 'DELETED' && event.event === undefined)
}
