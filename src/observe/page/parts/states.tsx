import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { RequestError } from '../data/request.ts'
import type { Resource } from '../data/resource.ts'
import { Mark } from './mark.tsx'

/** The heading of a view, which is the page's title too. */
export function Heading({
  title,
  children,
  note,
}: {
  title: string
  children?: ComponentChildren
  note?: ComponentChildren
}) {
  useEffect(() => {
    document.title = `${title} · kubeherald`
  }, [title])
  return (
    <div class="heading">
      <h1 tabIndex={-1}>{children ?? title}</h1>
      {note && <p class="note">{note}</p>}
    </div>
  )
}

/** What an answer comes to: while it is awaited, when it failed, and `children` for what it has. An older answer stays visible. */
export function Loaded<T>({
  from,
  children,
}: {
  from: Pick<Resource<T>, 'data' | 'error'> & Partial<Resource<T>>
  children: (data: T) => ComponentChildren
}) {
  const { data, error, reload } = from
  if (data === undefined) return error ? <Failed error={error} {...(reload && { reload })} /> : <Loading />
  return (
    <>
      {error && (
        <p class="stale" role="status">
          <Mark status="warn">not updated: {error.message}</Mark>
          {reload && (
            <button type="button" onClick={reload}>
              try again
            </button>
          )}
        </p>
      )}
      {children(data)}
    </>
  )
}

export function Loading() {
  return (
    <p class="loading" role="status">
      Loading …
    </p>
  )
}

const ADVICE: Record<number, string> = {
  0: 'The process may be restarting, or the connection is down. The page tries again by itself.',
  401: 'Enter a token: see "server.tokens" in the configuration.',
  403: 'The token may not see this. Ask for one without "namespaces", or with the role "act" for changes.',
  404: 'It may be older than what is kept, or the address has a mistake.',
  429: 'Too many requests are under way. Try again in a moment.',
  503: 'Redis may be unavailable: /readyz has the reason.',
}

export function Failed({ error, reload }: { error: RequestError; reload?: () => void }) {
  return (
    <div class="failed" role="alert">
      <p>
        <Mark status="bad">{error.message}</Mark>
      </p>
      <p>{error.detail ?? ADVICE[error.status] ?? 'The log of kubeherald may have the reason.'}</p>
      {reload && (
        <button type="button" onClick={reload}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Nothing to show, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <p>{children}</p>}
    </div>
  )
}
