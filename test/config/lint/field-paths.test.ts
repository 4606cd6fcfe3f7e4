import { expect, test } from 'vitest'
import { type OpenApiSchemas, pathFault, schemaOfKind } from '../../../src/config/lint/field-paths.ts'

const text = { type: 'string' }
const schemas: OpenApiSchemas = {
  Web: {
    type: 'object',
    'x-kubernetes-group-version-kind': [{ group: 'apps', version: 'v1', kind: 'Web' }],
    properties: {
      metadata: { allOf: [{ $ref: '#/components/schemas/Meta' }] },
      spec: { $ref: '#/components/schemas/Spec' },
      status: { type: 'object', properties: { phase: text } },
    },
  },
  Meta: {
    type: 'object',
    properties: { name: text, labels: { type: 'object', additionalProperties: text } },
  },
  Spec: {
    type: 'object',
    properties: {
      replicas: { type: 'integer' },
      containers: { type: 'array', items: { allOf: [{ $ref: '#/components/schemas/Container' }] } },
      values: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      raw: { type: 'object' },
      port: { 'x-kubernetes-int-or-string': true },
    },
  },
  Container: { type: 'object', properties: { name: text, image: text } },
}

const kind = schemaOfKind(schemas, { group: 'apps', version: 'v1', kind: 'Web' })!

function tell(path: string): string | undefined {
  const fault = pathFault(schemas, 'Web', kind, path)
  if (!fault) return undefined
  const { offset, length, message, hint } = fault
  return `${path.slice(offset, offset + length)}: ${message}${hint === undefined ? '' : ` = ${hint}`}`
}

test.each([
  'spec',
  'spec.replicas',
  'spec.containers.*.image',
  'spec.containers[name=app].image',
  'spec.containers[0].image',
  'spec.containers.0.image',
  'spec.*',
  'spec.*.anything',
  'metadata.labels["a/b"]',
  'metadata.labels[a/b]',
  'metadata.labels.team',
  'spec.values.any.thing',
  'spec.raw.any.thing',
  'spec.port.x',
])('%s may be there', (path) => {
  expect(tell(path)).toBeUndefined()
})

test.each([
  ['spec.replica', 'replica: spec has no field "replica" = did you mean "replicas"?'],
  ['spek.replicas', 'spek: a Web has no field "spek" = did you mean "spec"?'],
  ['replicas', 'replicas: a Web has no field "replicas" = did you mean spec.replicas?'],
  ['phase', 'phase: a Web has no field "phase" = did you mean status.phase?'],
  [
    'spec.containers.image',
    'image: spec.containers is a list, and has no field "image" = for all of its items: spec.containers.*.image',
  ],
  ['spec.containers.*.imag', 'imag: spec.containers.* has no field "imag" = did you mean "image"?'],
  ['spec.containers[nam=app].image', '[nam=app]: spec.containers has no field "nam" = did you mean "name"?'],
  ['spec.replicas.min', 'min: spec.replicas is a plain value, and has no field "min"'],
  ['constructor', 'constructor: a Web has no field "constructor" = there are: metadata, spec, status'],
  [
    'spec.__proto__',
    '__proto__: spec has no field "__proto__" = there are: replicas, containers, values, raw, port',
  ],
])('%s cannot be there', (path, expected) => {
  expect(tell(path)).toBe(expected)
})
