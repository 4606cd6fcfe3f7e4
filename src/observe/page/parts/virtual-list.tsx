import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Rows beyond those in view, so that a scroll finds them drawn. */
const OVERSCAN = 8

/** A list of rows of one height, of which only those in view exist. */
export function VirtualList({
  count,
  rowHeight,
  label,
  row,
  onTop,
}: {
  count: number
  /** In pixels. */
  rowHeight: number
  label: string
  row: (index: number) => ComponentChildren
  /** Whether it is scrolled to its top, when that changes. */
  onTop: (isTop: boolean) => void
}) {
  const box = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(0)
  const wasTop = useRef(true)
  useLayoutEffect(() => {
    const node = box.current
    if (!node) return
    const resized = new ResizeObserver(() => setHeight(node.clientHeight))
    resized.observe(node)
    return () => resized.disconnect()
  }, [])
  const scrolled = () => {
    const now = box.current?.scrollTop ?? 0
    setTop(now)
    const isTop = now < rowHeight
    if (isTop !== wasTop.current) onTop(isTop)
    wasTop.current = isTop
  }
  const first = Math.max(0, Math.floor(top / rowHeight) - OVERSCAN)
  const last = Math.min(count, Math.ceil((top + height) / rowHeight) + OVERSCAN)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard (WCAG 2.1.1).
    <section class="virtual" ref={box} aria-label={label} tabIndex={0} onScroll={scrolled}>
      <ul style={{ height: `${count * rowHeight}px`, paddingTop: `${first * rowHeight}px` }}>
        {Array.from({ length: Math.max(0, last - first) }, (_, index) => (
          <li
            key={index}
            style={{ height: `${rowHeight}px` }}
            aria-posinset={first + index + 1}
            aria-setsize={count}
          >
            {row(first + index)}
          </li>
        ))}
      </ul>
    </section>
  )
}
