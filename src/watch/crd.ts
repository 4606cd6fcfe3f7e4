import type { Source } from '../change.ts'
import type { ClusterClient } from './cluster-client.ts'

/** `hidden`: we may not read CustomResourceDefinitions, so nobody can tell. */
export type CrdState = 'there' | 'none' | 'hidden'

/** Whether a CustomResourceDefinition defines this resource. Throws when the API server cannot say. */
export async function crdStateOf(
  client: ClusterClient,
  { resource }: Pick<Source, 'resource'>,
  signal: AbortSignal,
): Promise<CrdState> {
  if (!resource.group.includes('.')) return 'none'
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${resource.plural}.${resource.group}`
  const { status } = await client.get(path, {}, signal)
  if (status === 200) return 'there'
  if (status === 404) return 'none'
  if (status === 403) return 'hidden'
  throw new Error(`the API server answered ${status} to a read of the CRD`)
}
