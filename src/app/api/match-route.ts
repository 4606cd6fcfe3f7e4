import { BASE, type Operation, ROUTES, type Route } from './routes.ts'

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
export function matchRoute(method: string, path: string): Matched {
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
