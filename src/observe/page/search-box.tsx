import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation, useSearchParams } from 'wouter-preact'
import { eventLink, isEventId, withQuery } from './links.ts'

const PAUSE_MS = 200

/** One box for objects and ids of events. It searches while one types; Enter opens the first result. */
export function SearchBox() {
  const [path, navigate] = useLocation()
  const [query] = useSearchParams()
  const [text, setText] = useState(query.get('q') ?? '')
  const input = useRef<HTMLInputElement>(null)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)

  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return
      event.preventDefault()
      input.current?.focus()
      input.current?.select()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])
  useEffect(() => {
    if (document.activeElement !== input.current) setText(query.get('q') ?? '')
  }, [query.get('q'), path])

  const search = (value: string) => {
    clearTimeout(timer.current)
    navigate(withQuery('/', { q: value.trim() }), { replace: path === '/' })
  }
  const type = (value: string) => {
    setText(value)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => search(value), PAUSE_MS)
  }
  const submit = (event: Event) => {
    event.preventDefault()
    const wanted = text.trim()
    if (wanted === '') return
    clearTimeout(timer.current)
    if (isEventId(wanted)) navigate(eventLink(wanted))
    else navigate(withQuery('/', { q: wanted, open: 'first' }), { replace: path === '/' })
  }
  const down = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') {
      const first = document.querySelector<HTMLElement>('[data-results] a')
      if (first) event.preventDefault()
      first?.focus()
    } else if (event.key === 'Escape') {
      setText('')
      if (path === '/') search('')
    }
  }
  return (
    <search>
      <form onSubmit={submit}>
        <label class="unseen" for="search">
          Search for an object or the id of an event
        </label>
        <input
          id="search"
          ref={input}
          type="search"
          value={text}
          placeholder="shop/web, deploy/shop/web, event id"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => type(event.currentTarget.value)}
          onKeyDown={down}
        />
        <kbd>/</kbd>
      </form>
    </search>
  )
}
