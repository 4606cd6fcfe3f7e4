import { useEffect, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { objectTitle } from '../../../text/object-title.ts'
import type { FoundObjects, Story, StoryItem } from '../data/contract.ts'
import { getJson, type RequestError } from '../data/request.ts'
import { useResource } from '../data/resource.ts'
import { announce } from '../data/state.ts'
import { eventLink, type Named, objectPath, withQuery } from '../links.ts'
import { changeText, joinPages, outcomeText, statusOf, untitledText } from '../outcome.ts'
import { EventBody, useEvent } from '../parts/event-body.tsx'
import { Mark } from '../parts/mark.tsx'
import { Heading, Loaded } from '../parts/states.tsx'
import { Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { exact, inOneLine } from '../shown.ts'
import { Unknown } from './search.tsx'

const EVERY_MS = 5_000

/** What happened to an object, the newest first; each row opens to who was notified, what changed, and why. */
export function StoryView(params: { kind: string; namespace: string; name: string }) {
  const of: Named = { ...params, namespace: params.namespace === '_' ? undefined : params.namespace }
  const title = objectTitle(of)
  const story = useResource<Story>(`/objects/${objectPath(of)}/events`, EVERY_MS)
  return (
    <>
      <Heading title={inOneLine(title, 100)} note="One row for each change, the newest first. A row opens.">
        <span class="kind">{inOneLine(of.kind, 60)}</span>{' '}
        <Text of={`${of.namespace ? `${of.namespace}/` : ''}${of.name}`} />
      </Heading>
      <Loaded from={story}>
        {(it) =>
          it.items.length === 0 && it.next === undefined ? (
            <Nothing wanted={title} isComplete={it.isComplete} />
          ) : (
            <Rows story={it} path={`/objects/${objectPath(of)}/events`} />
          )
        }
      </Loaded>
    </>
  )
}

function Nothing({ wanted, isComplete }: { wanted: string; isComplete: boolean }) {
  const found = useResource<FoundObjects>(`/objects?${new URLSearchParams({ q: wanted })}`)
  return (
    <Loaded from={found}>
      {(it) => <Unknown found={{ ...it, isComplete: it.isComplete && isComplete }} wanted={wanted} />}
    </Loaded>
  )
}

function Rows({ story, path }: { story: Story; path: string }) {
  const [older, setOlder] = useState<StoryItem[]>([])
  const [last, setLast] = useState<Story | undefined>(undefined)
  const { next: cursor, stoppedAtMs } = last ?? story
  const items = joinPages(story.items, older)
  const more = () =>
    getJson<Story>(withQuery(path, { cursor })).then(
      (it) => {
        // With the first page: newer changes do not push its end out of the list.
        setOlder([...items, ...it.items])
        setLast(it)
      },
      (error: RequestError) => announce(error.message, true),
    )
  return (
    <>
      <div class="story">
        {items.map((it, index) => (
          <Row key={it.id} item={it} isFirst={index === 0} />
        ))}
      </div>
      {!story.isComplete && (
        <p class="note">More deliveries of it wait, or are dead letters, than are listed.</p>
      )}
      {cursor ? (
        <>
          {stoppedAtMs !== undefined && <p class="note">Searched back to {exact(stoppedAtMs)}.</p>}
          <button type="button" onClick={() => void more()}>
            {items.length === 0 ? 'Search further' : 'Older changes'}
          </button>
        </>
      ) : (
        story.historyFromMs !== undefined && (
          <p class="note">The history goes back to {exact(story.historyFromMs)}.</p>
        )
      )}
    </>
  )
}

function Row({ item, isFirst }: { item: StoryItem; isFirst: boolean }) {
  const [isOpen, setOpen] = useState(isFirst)
  const [wasOpen, setWasOpen] = useState(isFirst)
  useEffect(() => {
    if (isOpen) setWasOpen(true)
  }, [isOpen])
  const { type, reason, title, kind, outcomes, notice, atMs, id } = item
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="row-summary">
        <Time at={atMs} />
        <span class={`change ${type.toLowerCase()}`}>{kind === 'Event' ? 'event' : changeText(type)}</span>
        <span class="what">
          {notice && <b>{notice.kind === 'digest' ? 'digest' : 'resolved'} </b>}
          {reason && (
            <b>
              <Text of={reason} longest={60} />{' '}
            </b>
          )}
          {title ? <Text of={title} longest={160} /> : <span class="note">{untitledText(outcomes)}</span>}
        </span>
        <span class="outcomes">
          {outcomes.slice(0, 6).map((it, index) => (
            <Mark key={index} status={statusOf(it)}>
              <b>{it.sink}</b> {outcomeText(it)}
            </Mark>
          ))}
          {outcomes.length > 6 && <span class="note">and {outcomes.length - 6} more</span>}
        </span>
      </summary>
      {wasOpen && <Opened id={id} isOpen={isOpen} />}
    </details>
  )
}

function Opened({ id, isOpen }: { id: string; isOpen: boolean }) {
  const story = useEvent(id, isOpen)
  return (
    <>
      <EventBody of={story} />
      <p class="note">
        <Link href={eventLink(id)}>Address of this event</Link> <code>{inOneLine(id, 200)}</code>
      </p>
    </>
  )
}
