import { Link } from 'wouter-preact'
import type { EventStory, Rules, Sinks } from '../data/contract.ts'
import { type Resource, useResource } from '../data/resource.ts'
import { sinkLink } from '../links.ts'
import { Diff, valueText } from './diff.tsx'
import { Mark } from './mark.tsx'
import { RuleTree, Seen } from './rule-tree.tsx'
import { SinkResult } from './sink-line.tsx'
import { Loaded } from './states.tsx'
import { Text } from './text.tsx'

const EVERY_MS = 3_000

/** Gets what is known of an event, again while it is shown and one of its deliveries waits. */
export function useEvent(id: string, isShown = true): Resource<EventStory> {
  return useResource(`/events/${encodeURIComponent(id)}`, isShown ? whileWaiting : undefined)
}

/** What has failed waits in quarantine, and has a line for that, too. */
function whileWaiting({ sinks }: EventStory): number | undefined {
  return sinks.some(({ outcome }) => outcome === 'waiting') ? EVERY_MS : undefined
}

/** All that is known of an event: a line for each sink, what changed, and each rule with its reasons. */
export function EventBody({ of }: { of: Resource<EventStory> }) {
  return <Loaded from={of}>{(it) => <Known story={it} />}</Loaded>
}

function Known({ story }: { story: EventStory }) {
  const { message, rules, rulesMissing, sinks, isComplete } = story
  const changes =
    story.changes ?? sinks.map((it) => it.notification?.changes ?? []).find((it) => it.length > 0)
  return (
    <div class="event">
      {message && (
        <p class="message">
          <Text of={message} longest={1_000} />
        </p>
      )}
      <section class="who">
        <h2>Who was notified</h2>
        <ul class="sink-lines">
          {sinks.map((line, index) => (
            <SinkResult key={index} line={line} />
          ))}
          <OtherSinks story={story} />
        </ul>
        {!isComplete && (
          <p class="note">
            There are more deliveries and records than were looked at: some of this event may be among them.
          </p>
        )}
      </section>
      <div class="side">
        <section>
          <h2>What changed</h2>
          {changes === undefined ? (
            <p class="note">{noChanges(story)}</p>
          ) : changes.length === 0 ? (
            <p class="note">No field that is compared.</p>
          ) : (
            <Diff changes={changes} />
          )}
        </section>
        <section>
          <h2>Rules</h2>
          {rules ? (
            <RuleTree rules={rules} used={new Set(sinks.map((it) => it.rule))} />
          ) : (
            <p class="note">{rulesMissing ?? 'Not known.'}</p>
          )}
        </section>
      </div>
    </div>
  )
}

function noChanges({ event, rules }: EventStory): string {
  if (event?.type === 'ADDED') return 'It is new: there was nothing before.'
  if (rules) return 'Not known: no earlier state of this object was found in the journal.'
  // The reason is that of the missing rules, which is shown below.
  return 'Not known.'
}

/** The sinks that this event did not reach, with the first condition that kept each rule from sending there. */
function OtherSinks({ story }: { story: EventStory }) {
  const all = useResource<Sinks>('/sinks').data
  const rules = useResource<Rules>(story.rules ? '/rules' : undefined).data
  const reached = new Set(story.sinks.map((it) => it.sink))
  const others = all?.items.filter((it) => !reached.has(it.name) && it.type !== undefined) ?? []
  return others.map(({ name }) => {
    const sending = rules?.items.filter((it) => it.to.includes(name)).map((it) => it.name)
    return (
      <li class="sink-line" key={name}>
        <p class="sink-head">
          <Mark status="off">
            <Link href={sinkLink(name)} class="name">
              {name}
            </Link>{' '}
            not matched
          </Mark>
        </p>
        {sending && (
          <p class="why">
            {sending.length === 0 ? 'No rule sends to this sink.' : <WhyNot story={story} names={sending} />}
          </p>
        )}
      </li>
    )
  })
}

function WhyNot({ story, names }: { story: EventStory; names: readonly string[] }) {
  const explained = story.rules?.filter((it) => names.includes(it.rule)) ?? []
  const near = explained.filter((it) => it.verdict !== 'other-kind')
  if (near.length === 0) return <>Its rules ({names.join(', ')}) are for objects of other kinds.</>
  return near.map(({ rule, verdict, conditions, result }) => {
    const failing = conditions.find((it) => !it.holds)
    const other =
      result?.limit === undefined
        ? 'another rule sends it'
        : `${result.limit} ${result.outcome === 'waiting' ? 'delays' : 'suppresses'} it`
    return (
      <span class="reason" key={rule}>
        <b>{rule}</b>{' '}
        {verdict === 'not-asked' ? (
          'was not reached: a rule above ended the evaluation.'
        ) : failing ? (
          <>
            wants <code>{failing.name}</code> <Text of={valueText(failing.expected)} longest={120} />;{' '}
            <Seen of={failing.seen} />.
          </>
        ) : (
          `matches; ${other}.`
        )}
      </span>
    )
  })
}
