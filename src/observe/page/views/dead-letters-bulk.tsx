import { useRef, useState } from 'preact/hooks'
import { count, counted } from '../../../text/quantities.ts'
import type { DeadLettersDone } from '../data/contract.ts'
import { send } from '../data/request.ts'
import { announce } from '../data/state.ts'
import { Confirm } from '../parts/confirm.tsx'

interface DeadLetterChoice {
  sink: string
  reason: string
  rule?: string
  /** The newest one of the list that was shown. */
  until?: string
}

/** What is to be done with which dead letters. */
export interface Asked {
  action: 'retry' | 'drop'
  choice: { ids: string[] } | DeadLetterChoice
  /** `12 dead letters of oncall with the reason "rejected"` */
  what: string
}

/** Asks once, then does it in the portions of the API, and shows how many are done. */
export function BulkDialog({
  asked,
  onClose,
  onDone,
}: {
  asked: Asked
  onClose: () => void
  onDone: () => void
}) {
  const [done, setDone] = useState<number | undefined>(undefined)
  const isStopped = useRef(false)
  const isGoing = useRef(false)
  const isDrop = asked.action === 'drop'

  const go = async () => {
    let all = 0
    const failed: DeadLettersDone['failed'] = []
    isGoing.current = true
    setDone(0)
    try {
      let cursor: string | undefined
      for (let left = true; left && !isStopped.current; ) {
        const choice = { ...asked.choice, ...(cursor !== undefined && { cursor }) }
        const answer = await send<DeadLettersDone>('POST', `/dead-letters/${asked.action}`, choice)
        all += answer?.done ?? 0
        failed.push(...(answer?.failed ?? []))
        // Those that failed stay: the next request goes on behind them.
        cursor = answer?.next
        left = answer?.left === true && cursor !== undefined
        setDone(all)
      }
      const verb = isDrop ? 'dropped' : 'enqueued again'
      const [first] = failed
      announce(
        first
          ? `${counted(all, 'dead letter')} ${verb}, ${count(failed.length)} not: ${first.detail}`
          : `${counted(all, 'dead letter')} ${verb}.`,
        failed.length > 0,
      )
    } catch (error) {
      announce(`${counted(all, 'dead letter')} done, then: ${(error as Error).message}`, true)
    }
    onDone()
  }

  if (done !== undefined)
    return (
      <p class="progress" role="status">
        {isDrop ? 'Dropping' : 'Sending again'}: {count(done)} done …
        <button
          type="button"
          onClick={() => {
            isStopped.current = true
          }}
        >
          Stop
        </button>
      </p>
    )
  return (
    <Confirm
      title={isDrop ? 'Drop dead letters?' : 'Send dead letters again?'}
      action={isDrop ? 'Drop them' : 'Send them again'}
      isDanger={isDrop}
      onConfirm={() => void go()}
      onClose={() => !isGoing.current && onClose()}
    >
      <p>{asked.what}.</p>
      <p>
        {isDrop
          ? 'They are deleted and never delivered. The ledger counts them as discarded.'
          : 'They are enqueued again, behind what waits for the same object. What fails again becomes a dead letter again.'}
      </p>
    </Confirm>
  )
}
