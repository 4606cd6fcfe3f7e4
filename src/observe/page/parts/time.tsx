import { signal } from '@preact/signals'
import { relative } from '../../../text/quantities.ts'
import { exact } from '../shown.ts'

const now = signal(Date.now())
setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, 1_000)

/** How long ago, and the exact time where the pointer or the focus is. */
export function Time({ at }: { at: number | undefined }) {
  if (at === undefined) return <span class="none">never</span>
  return (
    <time dateTime={new Date(at).toISOString()}>
      {relative(at, now.value)}
      <span class="exact">{exact(at)}</span>
    </time>
  )
}
