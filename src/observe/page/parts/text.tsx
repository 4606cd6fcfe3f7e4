import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { count } from '../../../text/quantities.ts'
import { pieces } from '../shown.ts'

const LONGEST = 300
/** Each time that the reader asks for more of a long text. */
const MORE = 20_000

/** Text of others: never markup, its control characters by their codes, and only its beginning where it is long. */
export function Text({ of, longest = LONGEST }: { of: string; longest?: number }) {
  const [shown, setShown] = useState(longest)
  const { pieces: parts, cut } = pieces(of, shown)
  return (
    <bdi class="text">
      {parts.map((it) =>
        'text' in it ? (
          it.text
        ) : (
          <span class="code" title="a control character">
            {it.code}
          </span>
        ),
      )}
      {cut > 0 && (
        <button type="button" class="more" onClick={() => setShown(shown + MORE)}>
          … {count(cut)} more characters
        </button>
      )}
    </bdi>
  )
}

/** A list that may be long, in an element: its beginning, and a button for the rest. */
export function Collapsed<T>({
  in: Parent = 'span',
  class: className,
  items,
  first = 12,
  of,
}: {
  in?: 'ul' | 'dl' | 'span'
  class?: string
  items: readonly T[]
  first?: number
  of: (item: T, index: number) => ComponentChildren
}) {
  const [shown, setShown] = useState(first)
  return (
    <>
      <Parent class={className}>{items.slice(0, shown).map(of)}</Parent>
      {items.length > shown && (
        <button type="button" class="more" onClick={() => setShown(shown + 200)}>
          {count(items.length - shown)} more
        </button>
      )}
    </>
  )
}
