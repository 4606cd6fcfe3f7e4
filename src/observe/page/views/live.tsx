import { useEffect, useMemo, useState } from 'preact/hooks'
import { useSearchParams } from 'wouter-preact'
import { count, counted } from '../../../text/quantities.ts'
import type { HistoryRecord, StreamGap } from '../data/contract.ts'
import { type LiveLine, type LiveState, openLive } from '../data/live.ts'
import { OUTCOMES } from '../outcome.ts'
import { Mark } from '../parts/mark.tsx'
import { RecordRow } from '../parts/record-row.tsx'
import { Empty, Failed, Heading } from '../parts/states.tsx'
import { VirtualList } from '../parts/virtual-list.tsx'

const FILTERS = ['kind', 'namespace', 'name', 'sink', 'rule', 'outcome'] as const
const ROW_HEIGHT = 30
const NARROW_ROW_HEIGHT = 54

/** Records as they happen. The list waits while it is paused or scrolled down, so that lines can be read and opened. */
export function LiveView() {
  const [query, setQuery] = useSearchParams()
  const filter = Object.fromEntries(FILTERS.map((it) => [it, query.get(it) ?? undefined]))
  const address = query.toString()
  const live = useMemo(() => openLive<HistoryRecord>(filter), [address])
  useEffect(() => () => live.close(), [live])
  // Of another filter there is another stream: a pause and its lines are of one.
  const [pausedOf, setPausedOf] = useState<typeof live | undefined>(undefined)
  const [heldOf, setHeldOf] = useState<{ live: typeof live; lines: LiveLine<HistoryRecord>[] } | undefined>(
    undefined,
  )
  const isPaused = pausedOf === live
  const held = heldOf?.live === live ? heldOf.lines : undefined
  live.version.value
  const state = live.state.value
  const hold = (isHeld: boolean) => setHeldOf(isHeld ? { live, lines: newest(live.lines) } : undefined)
  const lineAt = (index: number) => (held ? held[index] : live.lines.newest(index))
  const total = held ? held.length : live.lines.length
  const change = (name: string, value: string) =>
    setQuery(
      (before) => {
        const next = new URLSearchParams(before)
        if (value) next.set(name, value)
        else next.delete(name)
        return next
      },
      { replace: true },
    )
  return (
    <>
      <Heading title="Live" note="Deliveries and suppressed events as they happen, the newest first." />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        {FILTERS.map((name) => (
          // biome-ignore lint/a11y/noLabelWithoutControl: the control is in one of both branches.
          <label key={name}>
            {name}
            {name === 'outcome' ? (
              <select
                value={filter[name] ?? ''}
                onChange={(event) => change(name, event.currentTarget.value)}
              >
                <option value="">any</option>
                {OUTCOMES.map((it) => (
                  <option key={it} value={it}>
                    {it === 'failed' ? 'retrying' : it}
                  </option>
                ))}
              </select>
            ) : (
              <input
                value={filter[name] ?? ''}
                placeholder="any"
                autocomplete="off"
                spellcheck={false}
                onChange={(event) => change(name, event.currentTarget.value.trim())}
              />
            )}
          </label>
        ))}
        <button
          type="button"
          aria-pressed={isPaused}
          onClick={() => {
            setPausedOf(isPaused ? undefined : live)
            hold(!isPaused)
          }}
        >
          {isPaused ? 'Go on' : 'Pause'}
        </button>
      </form>
      <p class="live-state" role="status">
        <Stream state={state} isPaused={isPaused} isHeld={held !== undefined} />
      </p>
      {state.error && <Failed error={state.error} />}
      {total === 0 ? (
        <Empty title="Nothing yet.">
          A line appears with the next delivery{address ? ' that the filter lets through' : ''}. Older ones
          are on the overview and with their objects.
        </Empty>
      ) : (
        <VirtualList
          count={total}
          rowHeight={matchMedia('(max-width: 640px)').matches ? NARROW_ROW_HEIGHT : ROW_HEIGHT}
          label="Live records"
          onTop={(isTop) => !isPaused && hold(!isTop)}
          row={(index) => <Line line={lineAt(index)} />}
        />
      )}
    </>
  )
}

function newest<T>(lines: { length: number; newest(index: number): T | undefined }): T[] {
  return Array.from({ length: lines.length }, (_, index) => lines.newest(index) as T)
}

function Line({ line }: { line: LiveLine<HistoryRecord> | undefined }) {
  if (!line) return null
  if ('record' in line) return <RecordRow record={line.record} />
  return (
    <p class="gap">
      <Mark status="warn">{gapText(line.gap)}</Mark>
    </p>
  )
}

const WHY: Record<StreamGap['why'], string> = {
  slow: 'this connection was too slow',
  trimmed: 'the history no longer has them',
  behind: 'this page was too far behind',
}

function gapText(json: string): string {
  const { skipped, why } = JSON.parse(json) as StreamGap
  return `${skipped === undefined ? 'records' : counted(skipped, 'record')} left out here: ${WHY[why] ?? why}`
}

function Stream({ state, isPaused, isHeld }: { state: LiveState; isPaused: boolean; isHeld: boolean }) {
  const { phase, received, skipped, missed } = state
  if (phase === 'connecting') return <Mark status="wait">connecting</Mark>
  if (phase === 'broken') return <Mark status="bad">the connection ended; the page connects again</Mark>
  if (phase === 'refused')
    return <Mark status="bad">the server refused the connection; reload to try again</Mark>
  return (
    <>
      {isHeld ? (
        <Mark status="wait">{isPaused ? 'paused' : 'held while you read: scroll to the top to go on'}</Mark>
      ) : (
        <Mark status="good">live</Mark>
      )}{' '}
      <span>· {count(received)} received</span>
      {skipped > 0 && (
        <>
          {' · '}
          <Mark status="warn">a sample: {count(skipped)} not listed, more came than can be shown</Mark>
        </>
      )}
      {missed > 0 && (
        <>
          {' · '}
          <Mark status="warn">{count(missed)} not sent by the server</Mark>
        </>
      )}
    </>
  )
}
