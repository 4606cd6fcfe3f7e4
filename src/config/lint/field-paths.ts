import { nearest } from '../../text/closest-match.ts'
import { suggest } from '../error-messages/suggest.ts'

/** A part of an OpenAPI v3 document, as a kube-apiserver gives it. */
export interface OpenApiSchema {
  $ref?: string
  allOf?: readonly OpenApiSchema[]
  type?: string
  properties?: Readonly<Record<string, OpenApiSchema>>
  items?: OpenApiSchema
  additionalProperties?: boolean | OpenApiSchema
  'x-kubernetes-preserve-unknown-fields'?: boolean
  'x-kubernetes-int-or-string'?: boolean
  'x-kubernetes-embedded-resource'?: boolean
  'x-kubernetes-group-version-kind'?: readonly { group: string; version: string; kind: string }[]
}

export type OpenApiSchemas = Readonly<Record<string, OpenApiSchema>>

export interface PathFault {
  /** Into the path. */
  offset: number
  length: number
  message: string
  hint?: string
}

interface Step {
  /** A field or a key of a map; undefined for any, or for items that are chosen. */
  name: string | undefined
  offset: number
  length: number
  /** `[name=app]`: the fields of items that choose. */
  chooses?: string
}

/** The schema of a kind; undefined when the document has none. */
export function schemaOfKind(
  schemas: OpenApiSchemas,
  { group, version, kind }: { group: string; version: string; kind: string },
): OpenApiSchema | undefined {
  return Object.values(schemas).find((schema) =>
    schema['x-kubernetes-group-version-kind']?.some(
      (it) => it.group === group && it.version === version && it.kind === kind,
    ),
  )
}

/**
 * What of a path such as `spec.template.spec.containers.*.image` an object of this schema cannot have; undefined when it may
 * have all of it. Maps and what the server does not prune are open.
 */
export function pathFault(
  schemas: OpenApiSchemas,
  kind: string,
  schema: OpenApiSchema,
  path: string,
): PathFault | undefined {
  let at: OpenApiSchema | undefined = schema
  let parent = `a ${kind}`
  const steps = stepsOf(path)
  for (const [index, step] of steps.entries()) {
    const found: OpenApiSchema = resolved(schemas, at)
    if (isOpen(found)) return undefined
    const { name } = step
    if (name === undefined || (found.items && isIndex(name))) at = found.items ?? valueSchema(found)
    else if (found.items) return notIn(step, found, parent, schemas, steps.slice(index))
    else if (found.properties && Object.hasOwn(found.properties, name)) at = found.properties[name]
    else if (valueSchema(found)) at = valueSchema(found)
    else return notIn(step, found, parent, schemas, steps.slice(index))
    if (step.chooses !== undefined && at) {
      const item = resolved(schemas, at)
      const fault = isOpen(item) || item.properties?.[step.chooses]
      if (!fault) return missing(step.chooses, step, Object.keys(item.properties ?? {}), parent)
    }
    if (!at) return undefined
    parent = path.slice(0, step.offset + step.length)
  }
  return undefined
}

function notIn(
  step: Step,
  found: OpenApiSchema,
  parent: string,
  schemas: OpenApiSchemas,
  rest: readonly Step[],
): PathFault {
  const name = step.name ?? ''
  const { offset, length } = step
  if (found.items) {
    const message = `${parent} is a list, and has no field "${name}"`
    return { offset, length, message, hint: `for all of its items: ${parent}.*.${name}` }
  }
  const fields = Object.keys(found.properties ?? {})
  if (fields.length === 0)
    return { offset, length, message: `${parent} is a plain value, and has no field "${name}"` }
  const below = ['spec', 'status', 'metadata'].find((it) => {
    const part = found.properties?.[it]
    return part && Object.hasOwn(resolved(schemas, part).properties ?? {}, name)
  })
  const fault = missing(name, step, fields, parent)
  if (below === undefined || nearest(name, fields) !== undefined) return fault
  return { ...fault, hint: `did you mean ${[below, ...rest.map((it) => it.name ?? '*')].join('.')}?` }
}

function missing(
  name: string,
  { offset, length }: Step,
  known: readonly string[],
  parent: string,
): PathFault {
  const hint = suggest(name, known, 'there are')
  return {
    offset,
    length,
    message: `${parent} has no field "${name}"`,
    ...(hint !== undefined && { hint }),
  }
}

/** Follows references; parts that belong together are one. */
function resolved(schemas: OpenApiSchemas, schema: OpenApiSchema | undefined): OpenApiSchema {
  if (!schema) return {}
  const name = schema.$ref?.split('/').at(-1)
  if (name !== undefined) return resolved(schemas, schemas[name])
  const parts = schema.allOf ?? []
  return parts.length === 0 ? schema : Object.assign({}, schema, ...parts.map((it) => resolved(schemas, it)))
}

function isOpen(schema: OpenApiSchema): boolean {
  const isAny = !schema.properties && !schema.items && !valueSchema(schema)
  return (
    schema['x-kubernetes-preserve-unknown-fields'] === true ||
    schema['x-kubernetes-embedded-resource'] === true ||
    schema.additionalProperties === true ||
    (isAny && (schema.type === undefined || schema.type === 'object'))
  )
}

function valueSchema({ additionalProperties }: OpenApiSchema): OpenApiSchema | undefined {
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}

const STEP = /\[(?:"([^"]*)"|'([^']*)'|([\w./-]+)=[^\][]*|([^\][]*))\]|[^.[\]]+/g

function isIndex(name: string): boolean {
  return /^\d+$/.test(name)
}

function stepsOf(path: string): Step[] {
  return [...path.matchAll(STEP)].map(({ 0: whole, 1: double, 2: single, 3: chooses, 4: bare, index }) => {
    const key = double ?? single ?? (whole.startsWith('[') ? bare : whole)
    const isAny = key === '*' || chooses !== undefined || (whole.startsWith('[') && isIndex(key ?? ''))
    return {
      name: isAny ? undefined : key,
      offset: index,
      length: whole.length,
      ...(chooses !== undefined && { chooses }),
    }
  })
}
