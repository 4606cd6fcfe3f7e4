import type * as z from 'zod'
import { createLogLimit, type Logger } from '../../observe/log.ts'
import type { Caller } from '../../observe/server/access.ts'
import { sendData, sendProblem } from '../../observe/server/answer.ts'
import { BodyError, readJson } from '../../observe/server/body.ts'
import type { ApiCall } from '../../observe/server/site.ts'
import { createSemaphore, type Semaphore } from '../../sink/index.ts'
import { friendlyError } from '../../text/friendly-errors.ts'
import { redactMessage } from '../../text/redact.ts'
import { kept } from './kept.ts'
import { openApi } from './openapi.ts'
import { ApiError, BASE, type Handlers, type Operation, ROUTES, type Route } from './routes.ts'

interface ApiParts {
  /** Resolves when Redis is connected. Rejects with an ApiError if it is not, after a time. */
  ready(): Promise<void>
  handlers: Handlers
  /** Answers with a stream of events until the client leaves. */
  stream(call: ApiCall): Promise<void>
  /** Records an action, also one that failed: parts of it may have been done. */
  audit(action: { who: string; operation: Operation; params: object; body: unknown; result: unknown }): void
  log: Logger
}

/** Requests that are answered at the same time, of all and of one caller. */
const MOST_CALLS = 256
const MOST_CALLS_OF_ONE = 64
/** Maximum number of concurrent calls that read much, of all clients and of one. */
const MOST_HEAVY = 4
const MOST_HEAVY_OF_ONE = 2
const LIMIT_MS = 20_000
const SHARED_MS = 1_000

/** Serves /api/v1: finds the operation, checks what it is asked for, and answers JSON or a problem (RFC 9457). */
export function createApi({
  ready,
  handlers,
  stream,
  audit,
  log,
}: ApiParts): (call: ApiCall) => Promise<void> {
  const heavy = createSemaphore(MOST_HEAVY)
  /** By caller: one who asks much does not keep others from it. */
  const heavyOf = new Map<string, Semaphore>()
  const calls = new Map<string, number>()
  const logLimit = createLogLimit()
  let running = 0
  const document = kept(async () => Buffer.from(JSON.stringify(openApi())), { forMs: 3_600_000 })
  const shared = kept(
    async (operation: Operation, params: object, caller: Pick<Caller, 'name' | 'role'>) =>
      run(operation, params, undefined, undefined, caller, AbortSignal.timeout(LIMIT_MS)),
    { forMs: SHARED_MS },
  )

  async function run(
    operation: Operation,
    params: object,
    query: unknown,
    body: unknown,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<Buffer> {
    await ready()
    const handler = handlers[operation as keyof Handlers] as (asked: object) => Promise<unknown>
    const answer = await handler({ params, query, body, caller, signal })
    return Buffer.from(JSON.stringify(answer))
  }

  function runHeavy<T>(name: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const own = heavyOf.get(name) ?? createSemaphore(MOST_HEAVY_OF_ONE)
    heavyOf.set(name, own)
    return own.run(() => heavy.run(work, signal), signal)
  }

  async function answer(call: ApiCall): Promise<void> {
    const { request, response, path, caller } = call
    const send = (body: Buffer) =>
      sendData(request, response, { status: 200, type: 'application/json', body })
    if (path === `${BASE}/openapi.json` && isReading(request.method)) return send(await document())
    const found = matchRoute(request.method ?? '', path)
    if (!found)
      return sendProblem(
        request,
        response,
        404,
        `there is no such path; ${BASE}/openapi.json lists those that there are`,
      )
    if ('allowed' in found) {
      const methods = found.allowed.join(', ')
      return sendProblem(request, response, 405, `only ${methods}`, { allow: methods })
    }
    const { operation, route, params } = found
    forbid(route, call)
    const given = queryOf(call.query)
    if (!route.answer) return stream(call)
    const query = checked(route.query, given, 'query')
    const body = route.body ? checked(route.body, await readJson(request), 'body') : undefined
    const signal = AbortSignal.any([AbortSignal.timeout(LIMIT_MS), goneSignal(call)])
    const work = () =>
      route.isShared
        ? // Answers differ by role only.
          shared(operation, params, { name: '', role: caller.role })
        : run(operation, params, query, body, caller, signal)
    const record = (done: () => unknown) => {
      if (route.acts) audit({ who: caller.name, operation, params, body, result: done() })
    }
    const answering = route.isHeavy ? runHeavy(caller.name, work, signal) : work()
    const result = await answering.catch((error: unknown) => {
      record(() => `failed: ${problemOf(error).detail}`)
      throw error
    })
    record(() => JSON.parse(result.toString()))
    return send(result)
  }

  /** Pages and services ask again every few seconds, as long as Redis is away. */
  function logFailure(status: number, path: string, error: Error): void {
    const requests = logLimit(`${status} ${error.name}`)
    if (requests !== undefined) log.warn({ path, requests, error }, 'a request to the API failed')
  }

  return async (call) => {
    const { request, response, caller } = call
    const own = calls.get(caller.name) ?? 0
    if (running >= MOST_CALLS || own >= MOST_CALLS_OF_ONE)
      return sendProblem(request, response, 503, 'too many requests at the same time', { 'retry-after': '1' })
    const isStream = call.path === `${BASE}/stream`
    if (!isStream) {
      running++
      calls.set(caller.name, own + 1)
    }
    try {
      await answer(call)
    } catch (error) {
      const { status, detail } = problemOf(error)
      if (status >= 500) logFailure(status, call.path, error as Error)
      await sendProblem(request, response, status, detail, status === 503 ? { 'retry-after': '5' } : {})
    } finally {
      if (!isStream) {
        running--
        const left = (calls.get(caller.name) ?? 1) - 1
        if (left > 0) calls.set(caller.name, left)
        else {
          calls.delete(caller.name)
          heavyOf.delete(caller.name)
        }
      }
    }
  }
}

function isReading(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD'
}

function forbid(route: Route, { caller, noteRefusal }: ApiCall): void {
  if (route.acts && caller.role !== 'act') {
    noteRefusal('role')
    throw new ApiError(403, `${caller.name} may only read: this needs the role act`)
  }
  if (route.scope === 'cluster' && caller.namespaces) {
    noteRefusal('namespaces')
    throw new ApiError(
      403,
      `${caller.name} may read some namespaces only, and this is about the whole cluster`,
    )
  }
}

function queryOf(query: URLSearchParams): Record<string, string> {
  for (const name of new Set(query.keys()))
    if (query.getAll(name).length > 1)
      throw new ApiError(400, `query: "${name.slice(0, 100)}" is given twice`)
  return Object.fromEntries(query)
}

/** Returns what the schema makes of a value. An operation without a query takes none. */
function checked(schema: z.ZodType | undefined, value: unknown, what: string): unknown {
  if (!schema) {
    const [name] = Object.keys(value as object)
    if (name === undefined) return undefined
    throw new ApiError(400, `${what}: "${name.slice(0, 100)}" is not known`)
  }
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const place = [what, ...(issue?.path ?? [])].map(String).join('.').slice(0, 200)
  throw new ApiError(400, `${place}: ${(issue?.message ?? 'is not valid').slice(0, 300)}`)
}

/** Aborts when the client is gone. */
function goneSignal({ response }: ApiCall): AbortSignal {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  return gone.signal
}

function problemOf(error: unknown): { status: number; detail: string } {
  if (error instanceof ApiError) return { status: error.status, detail: error.message }
  if (error instanceof BodyError) return { status: error.status, detail: `the body ${error.message}` }
  const { name, message } = error as Error
  if (name === 'TimeoutError' || name === 'AbortError') return { status: 503, detail: 'it took too long' }
  if (isOfRedis(error as Error))
    return { status: 503, detail: `Redis: ${redactMessage(friendlyError(message))}` }
  return { status: 500, detail: 'it failed; the log has the reason' }
}

function isOfRedis({ name, message }: Error): boolean {
  return (
    /^(ReplyError|MaxRetriesPerRequestError|AbortError)$/.test(name) ||
    /connection is closed|stream isn't writeable|ECONN|ETIMEDOUT|EPIPE|ENOENT|Socket timeout/i.test(message)
  )
}

/** What a method and a path stand for: an operation with the values of its path, or the methods that there are. */
type Matched =
  | { operation: Operation; route: Route; params: Readonly<Record<string, string>> }
  | { allowed: readonly string[] }
  | undefined

interface Entry {
  operation: Operation
  route: Route
  steps: readonly string[]
}

const ENTRIES: readonly Entry[] = Object.entries(ROUTES).map(([name, route]) => ({
  operation: name as Operation,
  route,
  steps: route.path.slice(1).split('/'),
}))

/** Longer paths are none of ours. */
const MAX_PATH = 2_000

/**
 * Finds the operation of a request. A step of the path is decoded by itself, so that `%2F` in a name does not split it. Returns
 * undefined where there is none.
 */
function matchRoute(method: string, path: string): Matched {
  if (!path.startsWith(`${BASE}/`) || path.length > MAX_PATH) return undefined
  const given = path.slice(BASE.length + 1).split('/')
  const found = ENTRIES.flatMap((entry) => {
    const params = paramsOf(entry.steps, given)
    return params ? [{ ...entry, params }] : []
  })
  if (found.length === 0) return undefined
  const wanted = method === 'HEAD' ? 'GET' : method
  // `/dead-letters/retry` rather than `/dead-letters/{id}`.
  const [best] = found
    .filter(({ route }) => route.method === wanted)
    .toSorted((a, b) => Object.keys(a.params).length - Object.keys(b.params).length)
  if (best) return best
  const methods = new Set(found.map(({ route }) => route.method as string))
  return { allowed: [...methods, ...(methods.has('GET') ? ['HEAD'] : [])] }
}

function paramsOf(
  steps: readonly string[],
  given: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const takesRest = steps.at(-1)?.endsWith('*}') ?? false
  if (takesRest ? given.length < steps.length : given.length !== steps.length) return undefined
  const params: [string, string][] = []
  for (const [i, step] of steps.entries()) {
    const isRest = takesRest && i === steps.length - 1
    const value = decoded(isRest ? given.slice(i).join('/') : given[i])
    if (!step.startsWith('{')) {
      if (value !== step) return undefined
    } else if (value === undefined || value === '') return undefined
    else params.push([step.replace(/[{}*]/g, ''), value])
  }
  return Object.fromEntries(params)
}

function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text)
  } catch {
    return undefined
  }
}
