import { Link } from 'wouter-preact'
import { counted } from '../../../text/quantities.ts'
import type { SinkLine } from '../data/contract.ts'
import { ruleLink, sinkLink, withQuery } from '../links.ts'
import { outcomeText, statusOf } from '../outcome.ts'
import { Mark } from './mark.tsx'
import { NotificationCard } from './notification.tsx'
import { Text } from './text.tsx'
import { Time } from './time.tsx'
import { Waterfall } from './waterfall.tsx'

/** What became of an event at one sink, why, and what the reader there got. */
export function SinkResult({ line }: { line: SinkLine }) {
  const { sink, rule, notice, notification, title } = line
  return (
    <li class="sink-line">
      <p class="sink-head">
        <Mark status={statusOf(line)}>
          <Link href={sinkLink(sink)} class="name">
            {sink}
          </Link>{' '}
          {outcomeText(line)}
        </Mark>
        <span class="by">
          rule <Link href={ruleLink(rule)}>{rule}</Link>
        </span>
        {notice && (
          <span class="by">
            {notice.kind === 'digest'
              ? `digest of ${counted(notice.count ?? 0, 'event')}`
              : 'end of an incident'}
          </span>
        )}
        <Time at={line.atMs} />
      </p>
      <Why line={line} />
      {line.attempts.length > 0 && <Waterfall line={line} />}
      {title && (
        <p class="stored">
          <span class="label">sent as</span>{' '}
          <b>
            <Text of={title} />
          </b>
        </p>
      )}
      {notification && (
        <details class="shown" open={title === undefined || title.includes(notification.title)}>
          <summary>{title === undefined ? 'Notification' : 'Notification, rendered again'}</summary>
          <NotificationCard of={notification} />
        </details>
      )}
    </li>
  )
}

function Why({ line }: { line: SinkLine }) {
  const { outcome, detail, reason, note, waiting, silence, deadLetterId, attemptCount } = line
  if (outcome === 'waiting' || outcome === 'failed')
    return (
      <p class="why">
        {waiting?.quarantine || outcome === 'failed'
          ? `In quarantine after ${counted(attemptCount, 'attempt')}: this object fails while others succeed. It is tried again by itself.`
          : waiting
            ? `Waits in lane ${waiting.lane}.`
            : 'Waits in its lane.'}{' '}
        {detail && <Text of={detail} />}
      </p>
    )
  if (outcome === 'dead')
    return (
      <p class="why">
        <Text of={detail ?? reason ?? ''} />{' '}
        <Link href={withQuery('/dead-letters', { sink: line.sink, reason: line.reason, id: deadLetterId })}>
          {deadLetterId ? 'open the dead letter' : 'dead letters of this sink'}
        </Link>
      </p>
    )
  if (outcome === 'suppressed')
    return (
      <p class="why">
        {silence ? (
          <>
            <Link href={withQuery('/silences', { id: silence })}>Silence {silence}</Link> suppressed it.
          </>
        ) : (
          <>The limit of the rule suppressed it; nothing was sent.</>
        )}{' '}
        {detail && <Text of={detail} />}
      </p>
    )
  return note ? (
    <p class="why">
      <Text of={note} />
    </p>
  ) : null
}
