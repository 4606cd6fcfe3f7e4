import { useEffect } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { counted } from '../../../text/quantities.ts'
import type { FoundObjects } from '../data/contract.ts'
import { useResource } from '../data/resource.ts'
import { objectLink } from '../links.ts'
import { ObjectName } from '../parts/object-name.tsx'
import { Empty, Heading, Loaded } from '../parts/states.tsx'
import { Collapsed } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { exact, inOneLine } from '../shown.ts'

/** Objects whose kind, namespace and name match the text. */
export function SearchResults({ wanted, opensFirst }: { wanted: string; opensFirst: boolean }) {
  const found = useResource<FoundObjects>(`/objects?${new URLSearchParams({ q: wanted })}`)
  const [, navigate] = useLocation()
  const first = found.data && bestFirst(found.data.items, wanted)[0]
  useEffect(() => {
    if (opensFirst && first) navigate(objectLink(first), { replace: true })
  }, [opensFirst, first])
  return (
    <>
      <Heading title={`Search: ${inOneLine(wanted, 60)}`} />
      <Loaded from={found}>
        {(it) =>
          it.items.length > 0 ? (
            <Results found={it} wanted={wanted} />
          ) : (
            <Unknown found={it} wanted={wanted} />
          )
        }
      </Loaded>
    </>
  )
}

/** What is named exactly so before what only contains it; each the newest first. */
function bestFirst(items: FoundObjects['items'], wanted: string): FoundObjects['items'] {
  const name = wanted.split('/').at(-1)
  return items.toSorted((a, b) => Number(b.name === name) - Number(a.name === name))
}

function Results({ found, wanted }: { found: FoundObjects; wanted: string }) {
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (!step) return
    event.preventDefault()
    const links = [...document.querySelectorAll<HTMLElement>('[data-results] a')]
    const next = links.indexOf(document.activeElement as HTMLElement) + step
    if (next < 0) document.getElementById('search')?.focus()
    else links[next]?.focus()
  }
  return (
    <>
      <p class="note" role="status">
        {counted(found.items.length, 'object')}
        {found.isComplete ? '' : ', among the newest records'}
      </p>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: its links have the focus; the arrows move it. */}
      <div onKeyDown={move}>
        <ul class="results" data-results>
          {bestFirst(found.items, wanted).map((it) => (
            <li key={objectLink(it)}>
              <ObjectName of={it} />
              <span class="note">
                {counted(it.events, 'event')}, the newest <Time at={it.lastMs} />
              </span>
            </li>
          ))}
        </ul>
      </div>
    </>
  )
}

/** Nothing was found: what is known, and since when. */
export function Unknown({ found, wanted }: { found: FoundObjects; wanted: string }) {
  const { historyFromMs, watched, isComplete } = found
  return (
    <Empty title={`Nothing ${isComplete ? 'is known' : 'was found'} of "${inOneLine(wanted, 100)}".`}>
      {!isComplete &&
        'Only a part of the history, the waiting deliveries and the dead letters was searched. '}
      {historyFromMs === undefined
        ? 'The history is empty.'
        : `The history goes back to ${exact(historyFromMs)}.`}{' '}
      It has objects of which an event was delivered, suppressed or given up; an object that no rule matched
      is not in it. See <Link href="/watches">watches</Link> and <Link href="/rules">rules</Link>. Watched:{' '}
      {watched.length === 0 ? (
        'nothing'
      ) : (
        <Collapsed items={watched} of={(it) => <code key={it}>{it}</code>} />
      )}
    </Empty>
  )
}
