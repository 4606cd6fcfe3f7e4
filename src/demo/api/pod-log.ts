import type { Pod } from '../manifests/workload.ts'
import { badRequest, parseFlag, parseNumber } from './request.ts'

/** Returns the end of a container's log as the API server gives it. Throws Refusal where there is no such container or run. */
export function podLog({ metadata, spec, status }: Pod, query: URLSearchParams): string {
  const { name: pod } = metadata
  const asked = query.get('container')
  const container = asked === null ? spec.containers[0] : spec.containers.find(({ name }) => name === asked)
  if (!container) throw badRequest(`container ${asked} is not valid for pod ${pod}`)
  const { name, image } = container
  const of = status.containerStatuses?.find((it) => it.name === name)
  const { state = {}, lastState = {} } = of ?? {}
  const isPrevious = parseFlag(query.get('previous'))
  const run = isPrevious || !('running' in state) ? lastState : state
  if (isPrevious && !('terminated' in run))
    throw badRequest(`previous terminated container "${name}" in pod "${pod}" not found`)
  if (!('terminated' in run || 'running' in run))
    throw badRequest(`container "${name}" in pod "${pod}" is waiting to start: ContainerCreating`)
  const failed = 'terminated' in run && run.terminated.exitCode !== 0
  const lines = [
    `starting ${image.slice(image.lastIndexOf('/') + 1)}`,
    `reading /etc/${name}/config.yaml`,
    ...(failed ? CRASH : ['listening on :8080', 'ready']),
  ]
  const most = parseNumber(query.get('tailLines')) ?? lines.length
  return lines
    .slice(Math.max(0, lines.length - most))
    .map((line) => `${line}\n`)
    .join('')
}

const CRASH = [
  'connecting to postgres.data.svc:5432 (attempt 1 of 3)',
  'connecting to postgres.data.svc:5432 (attempt 2 of 3)',
  'connecting to postgres.data.svc:5432 (attempt 3 of 3)',
  'fatal: no connection to the database: dial tcp 10.96.14.3:5432: connect: connection refused',
]
