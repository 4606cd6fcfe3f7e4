import type { ConfigDocument } from '../../config/document.ts'
import { type OpenApiSchemas, type PathFault, pathFault, schemaOfKind } from '../../config/field-paths.ts'
import type { Problem } from '../../config/problem.ts'
import type { RulePath } from '../../config/rule-paths.ts'
import type { Resource } from '../../event.ts'
import type { ClusterClient } from '../../watch/cluster-client.ts'
import type { Catalogue } from '../../watch/discovery.ts'
import { resolveKind } from '../../watch/resolve.ts'

/** A kind that the cluster knows, with what its OpenAPI says of it. */
interface Described extends Resource {
  schemas: OpenApiSchemas
}

/** Paths of rules that no object of their kinds can have, by the cluster's OpenAPI; a server without one says nothing. */
export async function checkPaths(
  paths: readonly RulePath[],
  { client, catalogue }: { client: ClusterClient; catalogue: Catalogue },
  document: ConfigDocument,
  signal: AbortSignal,
): Promise<Problem[]> {
  if (paths.length === 0) return []
  const index = await groupVersions(client, signal)
  const reading = new Map<string, Promise<OpenApiSchemas | undefined>>()
  async function describe(spelling: string): Promise<Described | undefined> {
    const resolution = resolveKind(spelling, catalogue)
    if (resolution.kind !== 'found') return undefined
    const { group, version } = resolution.resource
    const url = index[group === '' ? `api/${version}` : `apis/${group}/${version}`]
    if (url === undefined) return undefined
    const schemas = await (reading.get(url) ?? reading.set(url, readSchemas(client, url, signal)).get(url))
    return schemas && { ...resolution.resource, schemas }
  }
  const problems = await Promise.all(
    paths.map(async (it) => {
      const described = await Promise.all(it.kinds.map(describe))
      const faults = described.map((kind) => kind && faultIn(kind, it.path))
      const [first] = faults
      // One kind that may have it is enough, and of one that is not known nobody knows.
      if (!first || faults.some((fault) => fault === undefined)) return []
      return [problemOf(it, first, document)]
    }),
  )
  return problems.flat()
}

function faultIn({ schemas, ...resource }: Described, path: string): PathFault | undefined {
  const schema = schemaOfKind(schemas, resource)
  return schema && pathFault(schemas, resource.kind, schema, path)
}

function problemOf({ place, offset, atKey }: RulePath, fault: PathFault, document: ConfigDocument): Problem {
  const { message, hint, length } = fault
  return document.problem(place, message, {
    ...(atKey ? { atKey } : { offset: offset + fault.offset, length }),
    hint,
    severity: 'warning',
  })
}

type Index = Readonly<Record<string, string>>

async function groupVersions(client: ClusterClient, signal: AbortSignal): Promise<Index> {
  const { paths = {} } = ((await getJson(client, '/openapi/v3', signal)) ?? {}) as {
    paths?: Record<string, { serverRelativeURL?: string }>
  }
  return Object.fromEntries(
    Object.entries(paths).flatMap(([name, { serverRelativeURL: url }]) => (url ? [[name, url]] : [])),
  )
}

async function readSchemas(
  client: ClusterClient,
  url: string,
  signal: AbortSignal,
): Promise<OpenApiSchemas | undefined> {
  const answer = (await getJson(client, url, signal)) as
    | { components?: { schemas?: OpenApiSchemas } }
    | undefined
  return answer?.components?.schemas
}

async function getJson(client: ClusterClient, path: string, signal: AbortSignal): Promise<unknown> {
  const { status, body } = await client.get(path, { accept: 'application/json', timeoutMs: 10_000 }, signal)
  return status === 200 ? JSON.parse(body.toString()) : undefined
}
