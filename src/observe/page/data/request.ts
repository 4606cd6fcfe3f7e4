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

/** Keeps the token as long as the tab is open. */
export function keepToken(token: string): void {
  sessionStorage.setItem(STORED, token.trim())
  tokenWanted.value = undefined
}

const BASE = '/api/v1'

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
    isReachable.value = false
    throw new RequestError(
      0,
      'kubeherald does not answer',
      'The process may be restarting, or the connection is down. The page tries again by itself.',
    )
  }
  isReachable.value = true
  if (response.ok) return response
  if (response.status === 401) tokenWanted.value = token ? 'wrong' : 'missing'
  throw await errorOf(response)
}

async function errorOf(response: Response): Promise<RequestError> {
  const { title, detail } = (await response.json().catch(() => ({}))) as { title?: string; detail?: string }
  const named = title ?? (response.statusText || `the server answered ${response.status}`)
  return new RequestError(response.status, String(named), detail === undefined ? undefined : String(detail))
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await request(path, signal ? { signal } : {})
  return (await response.json()) as T
}

/** Sends a change, which needs the role `act`. */
export async function send<T>(
  method: 'POST' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<T | undefined> {
  const response = await request(path, {
    method,
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  })
  const text = await response.text()
  return text ? (JSON.parse(text) as T) : undefined
}
