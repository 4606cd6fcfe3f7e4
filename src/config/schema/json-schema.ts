import * as z from 'zod'
import type { SinkType } from '../../sink/index.ts'
import {
  ConfigFile,
  IncludedFile,
  IncludeEntry,
  RuleDefaults,
  RuleWithMessage,
  TURNED_OFF_BY_FALSE,
} from '../schema.ts'
import { Tests } from './test-file.ts'

/** A part of a JSON Schema, draft 7: what the YAML language server knows best. */
export interface Node {
  [key: string]: unknown
  type?: string | string[]
  properties?: Record<string, Node>
  items?: Node
  additionalProperties?: boolean | Node
  anyOf?: Node[]
}

interface SchemaOptions {
  /** The built-in sinks, by the word behind `type:`. */
  sinkTypes: Readonly<Record<string, () => Promise<SinkType>>>
  /** True for a file that another one includes. */
  included?: boolean
}

const REFERENCE = { $ref: '#/definitions/reference' }
const QUEUE = { $ref: '#/definitions/sink-queue' }

/** The JSON Schema of a configuration, from the same source as its checks. Descriptions and examples are the `.meta()` of each key's zod schema. */
export async function jsonSchemaOf({ sinkTypes, included = false }: SchemaOptions): Promise<Node> {
  const types = await Promise.all(Object.values(sinkTypes).map((load) => load()))
  const optionsOfTypes = shareOptions(types.map(({ config }) => plain(config)))
  const root = plain(included ? IncludedFile : ConfigFile)
  const rule = plain(RuleWithMessage)
  const defaults = plain(RuleDefaults)
  const to = targets(rule.properties?.['to'] ?? {}, types)
  const keys = Object.entries({ ...withOff(rule.properties ?? {}), to })
  const byKey = Object.fromEntries(keys.map(([key, node]) => [`rule-${key}`, openForReferences(node)]))
  for (const it of [rule, defaults])
    it.properties = Object.fromEntries(
      Object.keys(it.properties ?? {}).map((key) => [key, { $ref: `#/definitions/rule-${key}` }]),
    )
  const ofFile = plain(ConfigFile).properties ?? {}
  const { watch = {}, sinks = {} } = ofFile
  const ofSinks =
    typeof sinks.additionalProperties === 'object' ? (sinks.additionalProperties.properties ?? {}) : {}
  if (included) delete watch['minItems']
  const ofKeys: Record<string, Node> = {
    ...ofFile,
    include: includes(defaults),
    defaults,
    rules: { type: 'array', items: rule },
    tests: plain(Tests),
    sinks: { ...sinks, ...sinksOf(types, optionsOfTypes.nodes, ofSinks['type']) },
  }
  root.properties = Object.fromEntries(
    Object.keys(root.properties ?? {}).map((key) => [key, { ...ofKeys[key], ...textsOf(ofFile[key]) }]),
  )
  const open = openForReferences(root, true)
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: `https://raw.githubusercontent.com/kubeherald/kubeherald/main/docs/${schemaName(included)}`,
    title: included
      ? 'A file that a configuration of kubeherald includes'
      : 'The configuration of kubeherald',
    ...open,
    ...(!included && {
      required: ['sinks'],
      anyOf: [{ required: ['watch', 'rules'] }, { required: ['include'] }],
    }),
    patternProperties: { '^x-': { description: 'Not read: a place for anchors.' } },
    definitions: {
      ...byKey,
      ...Object.fromEntries(
        Object.entries({ ...optionsOfTypes.shared, 'sink-queue': ofSinks['queue'] ?? {} }).map(
          ([name, node]) => [name, openForReferences(node)],
        ),
      ),
      reference: {
        type: 'string',
        pattern: '\\$\\{(var|env|file):[^}]+\\}',
        description: 'A variable or a value from outside, also within a text.',
      },
    },
  }
}

/** How the file is called that is published. */
export function schemaName(included: boolean): string {
  return included ? 'kubeherald-included.schema.json' : 'kubeherald.schema.json'
}

/** The JSON Schema of a zod schema's input. zod omits examples where it transforms the value; ours are examples of the input, so they are put back. */
function plain(schema: unknown): Node {
  const { $schema: _, ...rest } = z.toJSONSchema(schema as z.ZodType, {
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
    reused: 'inline',
    override({ zodSchema, jsonSchema }) {
      const { examples } = z.globalRegistry.get(zodSchema) ?? {}
      if (Array.isArray(examples)) jsonSchema.examples = examples
    },
  }) as Node
  return rest
}

/** The description and the examples of a key. */
function textsOf({ description, examples }: Node = {}): Node {
  return { ...(description !== undefined && { description }), ...(examples !== undefined && { examples }) }
}

function withOff(properties: Record<string, Node>): Record<string, Node> {
  return Object.fromEntries(
    Object.entries(properties).map(([key, property]) => {
      if (!TURNED_OFF_BY_FALSE.includes(key)) return [key, property]
      const { description: _, examples: __, ...node } = property
      const off = { const: false, description: 'Takes over no default.' }
      return [key, { ...textsOf(property), anyOf: [node, off] }]
    }),
  )
}

/** `to`, with what the built-in sinks know of a rule; a plug-in's sink may know more. */
function targets(to: Node, types: readonly SinkType[]): Node {
  const options: Record<string, Node> = {}
  for (const { route } of types) {
    if (!route) continue
    const { properties = {} } = plain(route)
    for (const [key, node] of Object.entries(properties))
      options[key] = options[key] ? { ...textsOf(options[key]), anyOf: [options[key], node] } : node
  }
  const byName = {
    type: 'object',
    additionalProperties: { anyOf: [{ type: 'object', properties: options }, { type: 'null' }] },
  }
  return {
    ...textsOf(to),
    anyOf: [
      { type: 'string' },
      { type: 'array', minItems: 1, items: { anyOf: [{ type: 'string' }, byName] } },
      byName,
    ],
  }
}

function includes(defaults: Node): Node {
  const { from: _, ...keys } = defaults.properties ?? {}
  const { from = {}, vars = {} } = plain(IncludeEntry).properties ?? {}
  const text = { type: 'string', minLength: 1 }
  const entry: Node = {
    type: 'object',
    properties: { from, vars, ...keys },
    required: ['from'],
    additionalProperties: false,
  }
  return { anyOf: [text, { type: 'array', items: { anyOf: [text, entry] } }] }
}

/** The options that several types have are written once: `definitions` that the types refer to. */
function shareOptions(nodes: readonly Node[]): { nodes: Node[]; shared: Record<string, Node> } {
  const uses = new Map<string, number>()
  const useOf = (key: string, node: Node) => `${key} ${JSON.stringify(node)}`
  const count = (key: string, node: Node) => uses.get(useOf(key, node)) ?? 0
  for (const { properties = {} } of nodes)
    for (const [key, node] of Object.entries(properties)) uses.set(useOf(key, node), count(key, node) + 1)
  const shared: Record<string, Node> = {}
  const names = new Map<string, string>()
  for (const { properties = {} } of nodes)
    for (const [key, node] of Object.entries(properties)) {
      if (count(key, node) < 2 || names.has(useOf(key, node))) continue
      const taken = `sink-${key}` in shared
      const name = taken ? `sink-${key}-${names.size}` : `sink-${key}`
      names.set(useOf(key, node), name)
      shared[name] = node
    }
  const refer = ([key, node]: [string, Node]): [string, Node] => {
    const name = names.get(useOf(key, node))
    return [key, name === undefined ? node : { $ref: `#/definitions/${name}` }]
  }
  return {
    shared,
    nodes: nodes.map((node) => ({
      ...node,
      properties: Object.fromEntries(Object.entries(node.properties ?? {}).map(refer)),
    })),
  }
}

/** Each sink by its type; of other types, those of plug-ins, nobody knows the options. */
function sinksOf(types: readonly SinkType[], nodes: readonly Node[], ofType: Node | undefined): Node {
  const messages = { $ref: '#/definitions/rule-message' }
  const named = types.map(({ type }, i) => {
    const { properties = {}, required = [] } = nodes[i] ?? {}
    return {
      if: { properties: { type: { const: type } }, required: ['type'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: {
        properties: { type: { const: type }, messages, queue: QUEUE, ...properties },
        required: ['type', ...(required as string[])],
        additionalProperties: false,
      },
    }
  })
  const type = {
    ...textsOf(ofType),
    anyOf: [{ enum: types.map((it) => it.type) }, { type: 'string', description: 'That of a plug-in.' }],
  }
  return {
    type: 'object',
    minProperties: 1,
    additionalProperties: {
      type: 'object',
      properties: { type, messages, queue: QUEUE },
      required: ['type'],
      allOf: named,
    },
  }
}

/** Any value may be a variable, and any text may come from outside. */
function openForReferences(node: Node, isRoot = false): Node {
  const open: Node = { ...node }
  if (node.properties)
    open.properties = Object.fromEntries(
      Object.entries(node.properties).map(([key, child]) => [key, openForReferences(child)]),
    )
  if (node.items) open.items = openForReferences(node.items)
  if (typeof node.additionalProperties === 'object')
    open.additionalProperties = openForReferences(node.additionalProperties)
  if (node.anyOf) open.anyOf = node.anyOf.map((it) => openForReferences(it, true))
  for (const key of ['allOf', 'then']) {
    const part = node[key]
    if (Array.isArray(part)) open[key] = part.map((it) => openForReferences(it as Node, true))
    else if (typeof part === 'object' && part !== null) open[key] = openForReferences(part as Node, true)
  }
  if (isRoot || takesAnyText(open)) return open
  const { description: _, examples: __, default: usual, ...rest } = open
  const kept = { ...textsOf(open), ...(usual !== undefined && { default: usual }) }
  return rest.anyOf && Object.keys(rest).length === 1
    ? { ...kept, anyOf: [...rest.anyOf, REFERENCE] }
    : { ...kept, anyOf: [rest, REFERENCE] }
}

function takesAnyText({ type, pattern, enum: values, anyOf, const: value }: Node): boolean {
  if (anyOf) return anyOf.some(takesAnyText)
  // Anything, or a part that is open already.
  if (type === undefined && values === undefined && value === undefined) return true
  return type === 'string' && pattern === undefined && values === undefined && value === undefined
}
