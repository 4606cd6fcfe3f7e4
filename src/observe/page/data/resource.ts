import { useCallback, useEffect, useState } from 'preact/hooks'
import { getJson, RequestError, tokenWanted } from './request.ts'

/** What a view knows of one answer of the API: the last one stays while a newer one cannot be had. */
export interface Resource<T> {
  data: T | undefined
  error: RequestError | undefined
  reload(): void
}

const RETRY_MS = 5_000

/**
 * Gets a path; undefined asks for nothing. Gets it again every `everyMs` while somebody can see it; a function, which must be the same each
 * time, decides by the last answer. Until there is one, it is asked for again where the server does not answer, or is not ready (503).
 */
export function useResource<T>(
  path: string | undefined,
  everyMs?: number | ((last: T) => number | undefined),
): Resource<T> {
  const [state, setState] = useState<{
    path?: string | undefined
    data?: T | undefined
    error?: RequestError | undefined
  }>({})
  const [round, setRound] = useState(0)
  const wanted = tokenWanted.value

  useEffect(() => {
    if (path === undefined || wanted) return
    const stopped = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let last: T | undefined
    const get = async () => {
      let retryMs: number | undefined
      try {
        const data = await getJson<T>(path, stopped.signal)
        last = data
        if (!stopped.signal.aborted) setState({ path, data })
      } catch (error) {
        if (stopped.signal.aborted) return
        const known = error instanceof RequestError ? error : new RequestError(0, String(error))
        setState((before) => ({ path, data: before.path === path ? before.data : undefined, error: known }))
        if (last === undefined && (known.status === 0 || known.status === 503)) retryMs = RETRY_MS
      }
      const ownMs = typeof everyMs === 'number' ? everyMs : last === undefined ? undefined : everyMs?.(last)
      const againMs = ownMs ?? retryMs
      if (againMs !== undefined && !stopped.signal.aborted) timer = setTimeout(next, againMs)
    }
    const next = () => {
      if (document.hidden)
        document.addEventListener('visibilitychange', get, { once: true, signal: stopped.signal })
      else void get()
    }
    void get()
    return () => {
      stopped.abort()
      clearTimeout(timer)
    }
  }, [path, everyMs, round, wanted])

  const reload = useCallback(() => setRound((it) => it + 1), [])
  const isCurrent = state.path === path
  return { data: isCurrent ? state.data : undefined, error: isCurrent ? state.error : undefined, reload }
}
