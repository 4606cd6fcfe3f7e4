import type { Stored } from '../objects.ts'
import { apiVersionOf, type ServedResource } from './catalogue.ts'
import { DISCOVERY_TYPE } from './discovery.ts'
import { Refusal } from './status.ts'

/** How objects are shown: as they are, or their metadata alone. */
export type Form = 'object' | 'metadata'

const METADATA_API = 'meta.k8s.io/v1'

/** The first form of an Accept header that is offered. Throws Refusal (406) when there is none. */
export function formOf(accept: string): Form {
  for (const { type, parameters } of mediaTypes(accept)) {
    if (!isJson(type)) continue
    if (!parameters.has('as')) return 'object'
    const asked = parameters.get('as') ?? ''
    const fits = parameters.get('g') === 'meta.k8s.io' && parameters.get('v') === 'v1'
    if (fits && ['PartialObjectMetadata', 'PartialObjectMetadataList'].includes(asked)) return 'metadata'
  }
  throw notAcceptable('application/json')
}

/** Refuses whoever cannot read aggregated discovery. */
export function requireDiscovery(accept: string): void {
  const offered = mediaTypes(accept).some(
    ({ type, parameters }) =>
      isJson(type) &&
      parameters.get('as') === 'APIGroupDiscoveryList' &&
      parameters.get('g') === 'apidiscovery.k8s.io' &&
      parameters.get('v') === 'v2',
  )
  if (!offered) throw notAcceptable(DISCOVERY_TYPE)
}

/** An object of a watch or of a single read. */
export function show(object: Stored, form: Form): object {
  return form === 'object' ? object : partial(object)
}

/** A list. Items of built-in kinds come without apiVersion and kind, as from a real server. */
export function showList(
  resource: ServedResource,
  form: Form,
  metadata: object,
  objects: readonly Stored[],
): object {
  if (form === 'metadata') {
    const items = objects.map(partial)
    return { kind: 'PartialObjectMetadataList', apiVersion: METADATA_API, metadata, items }
  }
  const apiVersion = apiVersionOf(resource)
  const kind = `${resource.kind}List`
  return resource.custom
    ? { apiVersion, items: objects, kind, metadata }
    : { kind, apiVersion, metadata, items: objects.map(({ apiVersion: _, kind: _k, ...item }) => item) }
}

/** A bookmark's object: nothing but a position. */
export function showPosition(
  resource: ServedResource,
  form: Form,
  metadata: { resourceVersion: string; annotations?: Record<string, string> },
): object {
  return form === 'metadata'
    ? { kind: 'PartialObjectMetadata', apiVersion: METADATA_API, metadata }
    : { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata }
}

function partial({ metadata }: Stored): object {
  return { kind: 'PartialObjectMetadata', apiVersion: METADATA_API, metadata }
}

function isJson(type: string): boolean {
  return ['application/json', 'application/*', '*/*'].includes(type)
}

function mediaTypes(accept: string): { type: string; parameters: Map<string, string> }[] {
  return (accept || '*/*').split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((word) => word.trim())
    return { type, parameters: new Map(parameters.map((it) => it.split('=', 2) as [string, string])) }
  })
}

function notAcceptable(offered: string): Refusal {
  const message = `only the following media types are accepted: ${offered}`
  return new Refusal(406, 'NotAcceptable', message, {})
}
