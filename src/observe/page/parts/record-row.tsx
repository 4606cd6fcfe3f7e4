import { Link } from 'wouter-preact'
import type { HistoryRecord } from '../data/contract.ts'
import { eventLink, objectLink } from '../links.ts'
import { changeText, outcomeText, statusOf } from '../outcome.ts'
import { clock, exact } from '../shown.ts'
import { Mark } from './mark.tsx'
import { Text } from './text.tsx'

/** One record of the history in one line, as the live view and the overview list it. */
export function RecordRow({ record }: { record: HistoryRecord }) {
  const { event, sinks, rule, title, atMs } = record
  const about = event.regarding ?? event
  // A title that names the object is enough where there is little room.
  const isTitled = title?.includes(about.name)
  return (
    <div class={isTitled ? 'record titled' : 'record'}>
      <span class="at" title={exact(atMs)}>
        {clock(atMs)}
      </span>
      <span class="outcome">
        <Mark status={statusOf(record)}>{outcomeText(record)}</Mark>
      </span>
      <span class="sinks" title={`rule ${rule}`}>
        {sinks.join(', ')}
      </span>
      <Link href={objectLink(about)} class="object">
        <span class="kind">
          <Text of={about.kind} longest={40} />
        </span>{' '}
        <Text of={`${about.namespace ? `${about.namespace}/` : ''}${about.name}`} longest={120} />
      </Link>
      <Link href={eventLink(event.id)} class="what">
        <Text of={title ?? (event.reason ? event.reason : changeText(event.type))} longest={160} />
      </Link>
    </div>
  )
}
