import { useState } from 'preact/hooks'
import { useSearchParams } from 'wouter-preact'
import { count } from '../../../text/quantities.ts'
import type { Silence, Silences } from '../data/contract.ts'
import { send } from '../data/request.ts'
import { useResource } from '../data/resource.ts'
import { announce, mayAct } from '../data/state.ts'
import type { Status } from '../outcome.ts'
import { Confirm } from '../parts/confirm.tsx'
import { valueText } from '../parts/diff.tsx'
import { Mark } from '../parts/mark.tsx'
import { Empty, Heading, Loaded } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { SilenceForm } from './silence-form.tsx'

const EVERY_MS = 4_000

/** Silences: what they match, until when, why and by whom; add one, or end one. */
export function SilencesView() {
  const silences = useResource<Silences>('/silences', EVERY_MS)
  const [query] = useSearchParams()
  const [ending, setEnding] = useState<Silence | undefined>(undefined)
  const expire = (id: string) =>
    send('DELETE', `/silences/${encodeURIComponent(id)}`).then(
      () => {
        announce('The silence has ended.')
        silences.reload()
      },
      (error: Error) => announce(error.message, true),
    )
  return (
    <>
      <Heading
        title="Silences"
        note="A silence suppresses new events that match all of its conditions. What waits already is sent, and so are the ends of incidents that were notified."
      />
      <Loaded from={silences}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="Nothing is silenced." />
          ) : (
            <Table
              label="Silences"
              rows={items}
              rowKey={(it) => it.id}
              rowClass={(it) => (it.id === query.get('id') ? 'marked' : '')}
              columns={[
                { title: 'State', cell: (it) => <State of={it} /> },
                { title: 'Matches', cell: (it) => <Match of={it.match} /> },
                { title: 'From', cell: (it) => <Time at={it.fromMs} /> },
                { title: 'Until', cell: (it) => <Time at={it.untilMs} /> },
                { title: 'Reason', cell: (it) => <Text of={it.reason} longest={200} /> },
                {
                  title: 'By',
                  cell: (it) => (
                    <span class="whole">
                      <Text of={it.by} longest={60} />
                    </span>
                  ),
                },
                {
                  title: 'Suppressed',
                  isNumber: true,
                  cell: (it) => (it.suppressed === undefined ? '' : count(it.suppressed)),
                },
                {
                  title: 'End',
                  cell: (it) =>
                    mayAct.value &&
                    it.state !== 'ended' && (
                      <button type="button" onClick={() => setEnding(it)}>
                        End now
                      </button>
                    ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {mayAct.value ? (
        <SilenceForm onAdded={silences.reload} />
      ) : (
        <p class="note">To add or end one a token with the role "act" is needed.</p>
      )}
      {ending && (
        <Confirm
          title="End this silence?"
          action="End it"
          onConfirm={() => void expire(ending.id)}
          onClose={() => setEnding(undefined)}
        >
          <p>
            <Match of={ending.match} />
          </p>
          <p>Events that match it are sent again from the next one on.</p>
        </Confirm>
      )}
    </>
  )
}

const STATES: Record<Silence['state'], [Status, string]> = {
  active: ['held', 'in force'],
  pending: ['wait', 'begins later'],
  ended: ['off', 'ended'],
}

function State({ of }: { of: Silence }) {
  const [status, text] = STATES[of.state]
  return <Mark status={status}>{text}</Mark>
}

function Match({ of }: { of: Silence['match'] }) {
  return (
    <span class="match">
      {Object.entries(of).map(([key, value]) => (
        <code key={key}>
          {key}=
          <Text of={Array.isArray(value) ? value.map(valueText).join('|') : valueText(value)} longest={120} />
        </code>
      ))}
    </span>
  )
}
