import { signal } from '@preact/signals'

/** An answer that is no success, as the server explains it (RFC 9457), or that it did not answer (status 0). */
export class RequestError extends Error {
  override name = 'RequestError'
  readonly status: number
  readonly detail: string | undefined

  constructor(status: number, title: string, detail?: string) {
    super(title)
    this.status = status
    this.detail = detail
  }
}

const STORED = 'kubeherald-token'

/** Whether the server asks for a token: `wrong` after one that it refused. */
export const tokenWanted = signal<'missing' | 'wrong' | undefined>(undefined)
/** Whether the last request found the server. */
export const isReachable = signal(true)

/** No token has other characters, and no header can have some of them: what was pasted may have some that nobody sees. */
const NOT_OF_TOKENS = /[^\x21-\x7e]/

/** Keeps the token as long as the tab is open. One that no server takes is refused, and none is kept then. */
export function keepToken(token: string): void {
  const text = token.trim()
  const isRefused = NOT_OF_TOKENS.test(text)
  if (isRefused) sessionStorage.removeItem(STORED)
  else sessionStorage.setItem(STORED, text)
  tokenWanted.value = isRefused ? 'wrong' : undefined
}

const BASE = '/api/v1'
/** The server gives up a request after 20 s. */
const LIMIT_MS = 30_000

/** Requests a path below /api/v1. Throws RequestError for what is no success. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const token = sessionStorage.getItem(STORED)
  const headers = new Headers(init.headers)
  if (token) headers.set('authorization', `Bearer ${token}`)
  let response: Response
  try {
    response = await fetch(BASE + path, { ...init, headers })
  } catch (error) {
    if (init.signal?.aborted) throw error
    throw noAnswer()
  }
  isReachable.value = true
  if (response.ok) return response
  if (response.status === 401) tokenWanted.value = token ? 'wrong' : 'missing'
  throw await errorOf(response)
}

function noAnswer(): RequestError {
  isReachable.value = false
  return new RequestError(0, 'kubeherald does not answer')
}

/** Ends what takes too long, and throws RequestError then: a connection whose other end is gone stays open, and silent. */
async function inTime<T>(work: (signal: AbortSignal) => Promise<T>, stopped?: AbortSignal): Promise<T> {
  const own = new AbortController()
  const abort = () => own.abort()
  const timer = setTimeout(abort, LIMIT_MS)
  stopped?.addEventListener('abort', abort)
  try {
    return await work(own.signal)
  } catch (error) {
    throw own.signal.aborted && !stopped?.aborted ? noAnswer() : error
  } finally {
    clearTimeout(timer)
    stopped?.removeEventListener('abort', abort)
  }
}

async function errorOf(response: Response): Promise<RequestError> {
  const { title, detail } = (await response.json().catch(() => ({}))) as { title?: string; detail?: string }
  const named = title ?? (response.statusText || `the server answered ${response.status}`)
  return new RequestError(response.status, String(named), detail === undefined ? undefined : String(detail))
}

/** Returns the answer of a path below /api/v1. Throws RequestError for what is no success, and where none comes within 30 s. */
export function getJson<T>(path: string, stopped?: AbortSignal): Promise<T> {
  return inTime(async (signal) => (await (await request(path, { signal })).json()) as T, stopped)
}

/** Sends a change, which needs the role `act`. Throws as `getJson`; then the change may have been made. */
export function send<T>(method: 'POST' | 'DELETE', path: string, body?: unknown): Promise<T | undefined> {
  return inTime(async (signal) => {
    const response = await request(path, {
      method,
      signal,
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
    const text = await response.text()
    return text ? (JSON.parse(text) as T) : undefined
  })
}
