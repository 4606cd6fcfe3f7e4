import { objectTitle } from '../../../text/object-title.ts'
import type { EventStory } from '../data/contract.ts'
import { useResource } from '../data/resource.ts'
import { changeText } from '../outcome.ts'
import { EventBody } from '../parts/event-body.tsx'
import { ObjectName } from '../parts/object-name.tsx'
import { Heading } from '../parts/states.tsx'
import { Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { inOneLine } from '../shown.ts'

/** One event: what became of it at each sink, and why. */
export function EventView({ id }: { id: string }) {
  const { data } = useResource<EventStory>(`/events/${encodeURIComponent(id)}`)
  const event = data?.event
  const about = event?.regarding ?? event
  const what = event ? (event.reason ?? changeText(event.type)) : 'Event'
  return (
    <>
      <Heading
        title={event && about ? inOneLine(`${what}: ${objectTitle(about)}`, 100) : 'Event'}
        note={<code>{inOneLine(id, 300)}</code>}
      >
        <Text of={what} longest={80} /> {about && <ObjectName of={about} />}
      </Heading>
      {event && (
        <p class="note">
          {event.kind === 'Event'
            ? 'Event of the API server'
            : `${changeText(event.type)}, ${event.apiVersion}`}
          {data?.observedMs !== undefined && (
            <>
              , observed <Time at={data.observedMs} />
            </>
          )}
        </p>
      )}
      <EventBody id={id} />
    </>
  )
}
