import { objectTitle } from '../../../text/object-title.ts'
import { changeText } from '../outcome.ts'
import { EventBody, useEvent } from '../parts/event-body.tsx'
import { ObjectName } from '../parts/object-name.tsx'
import { Heading } from '../parts/states.tsx'
import { Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { inOneLine } from '../shown.ts'

/** One event: what became of it at each sink, and why. */
export function EventView({ id }: { id: string }) {
  const story = useEvent(id)
  const { data } = story
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
      <EventBody of={story} />
    </>
  )
}
