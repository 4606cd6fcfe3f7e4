import type { ComponentChildren } from 'preact'
import type { Status } from '../outcome.ts'

/** Each status has a shape of its own, so that it can be read without colours. */
const SHAPES: Record<Status, string> = {
  good: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2Z',
  warn: 'M8 1.5 15 14H1Z',
  bad: 'M2 2h12v12H2Z',
  wait: 'M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13Zm0 2a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM7.2 5h1.6v2.7l2 1.2-.8 1.3-2.8-1.7Z',
  off: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2Zm0 2a4 4 0 1 0 0 8 4 4 0 0 0 0-8Z',
  held: 'M8 1 15 8 8 15 1 8Zm0 3L4 8l4 4 4-4Z',
}

/** A status by shape, colour and text. */
export function Mark({ status, children }: { status: Status; children: ComponentChildren }) {
  return (
    <span class={`mark ${status}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path fill-rule="evenodd" d={SHAPES[status]} />
      </svg>
      <span>{children}</span>
    </span>
  )
}
