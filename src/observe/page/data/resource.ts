import { useCallback, useEffect, useState } from 'preact/hooks'
import { getJson, RequestError, tokenWanted } from './request.ts'

/** What a view knows of one answer of the API: the last one stays while a newer one cannot be had. */
export interface Resource<T> {
  data: T | undefined
  error: RequestError | undefined
  reload(): void
}

/** Gets a path, again every `everyMs` while somebody can see it; undefined asks for nothing. */
export function useResource<T>(path: string | undefined, everyMs?: number): Resource<T> {
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
    const get = async () => {
      try {
        const data = await getJson<T>(path, stopped.signal)
        if (!stopped.signal.aborted) setState({ path, data })
      } catch (error) {
        if (stopped.signal.aborted) return
        const known = error instanceof RequestError ? error : new RequestError(0, String(error))
        setState((before) => ({ path, data: before.path === path ? before.data : undefined, error: known }))
      }
      if (everyMs !== undefined && !stopped.signal.aborted) timer = setTimeout(next, everyMs)
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
