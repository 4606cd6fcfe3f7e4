import * as z from 'zod'
import type { SinkType } from '../../sink/index.ts'
import { TURNED_OFF_BY_FALSE } from '../rule-defaults.ts'
import { ConfigFile, IncludedFile, RuleDefaults, RuleWithMessage } from '../schema.ts'
import { Tests } from '../test-schema.ts'
import { FILE } from './explain-file.ts'
import { RULE } from './explain-rules.ts'
import { SINKS } from './explain-sinks.ts'
import { TESTS } from './explain-tests.ts'
import { type Explanations, explained } from './explained.ts'

/** A part of a JSON Schema, draft 7: what the YAML language server knows best. */
export interface Node {
  [key: string]: unknown
  type?: string | string[]
  properties?: Record<string, Node>
  items?: Node
  additionalProperties?: boolean | Node
  anyOf?: Node[]
}

export interface SchemaOptions {
  /** The built-in sinks, by the word behind `type:`. */
  sinkTypes: Readonly<Record<string, () => Promise<SinkType>>>
  /** Of a file that another one includes. */
  included?: boolean
}

const REFERENCE = { $ref: '#/definitions/reference' }

/** The JSON Schema of a configuration, from the same source as its checks, with texts for editors. */
export async function jsonSchemaOf({ sinkTypes, included = false }: SchemaOptions): Promise<Node> {
  const types = await Promise.all(Object.values(sinkTypes).map((load) => load()))
  const root = plain(included ? IncludedFile : ConfigFile)
  const properties = root.properties ?? {}
  const rule = explain(plain(RuleWithMessage), RULE)
  const defaults = explain(plain(RuleDefaults), RULE)
  const to = targets(rule.properties?.['to'] ?? {}, types)
  const keys = Object.entries({ ...withOff(rule.properties ?? {}), to })
  const byKey = Object.fromEntries(keys.map(([key, node]) => [`rule-${key}`, openForReferences(node)]))
  for (const it of [rule, defaults])
    it.properties = Object.fromEntries(
      Object.keys(it.properties ?? {}).map((key) => [key, { $ref: `#/definitions/rule-${key}` }]),
    )
  properties['include'] = includes(defaults)
  properties['defaults'] = defaults
  properties['rules'] = { type: 'array', items: rule }
  properties['watch'] = plain(ConfigFile).properties?.['watch'] ?? {}
  if (included) delete properties['watch']['minItems']
  properties['tests'] = explain(plain(Tests), TESTS, () => false, 'tests')
  explain(root, FILE, (path) => /^(rules|defaults)/.test(path))
  if (properties['sinks'])
    properties['sinks'] = { ...properties['sinks'], ...sinks(types, queueIn(properties['sinks'])) }
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
      reference: {
        type: 'string',
        pattern: '^\\$\\{(var|env|file):[^}]+\\}$',
        description: 'A variable, or a value from outside.',
      },
    },
  }
}

/** How the file is called that is published. */
export function schemaName(included: boolean): string {
  return included ? 'kubeherald-included.schema.json' : 'kubeherald.schema.json'
}

function plain(schema: unknown): Node {
  const { $schema: _, ...rest } = z.toJSONSchema(schema as z.ZodType, {
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
    reused: 'inline',
  }) as Node
  return rest
}

/** Puts the texts of a table to each key; alternatives of a value have the keys of all. */
function explain(
  node: Node,
  table: Explanations,
  isOther: (path: string) => boolean = () => false,
  path = '',
): Node {
  for (const [key, child] of Object.entries(node.properties ?? {})) {
    const at = path === '' ? key : `${path}.${key}`
    describe(child, table, at)
    if (isOther(`${at}.`) || isOther(at)) continue
    explain(child, table, isOther, at)
  }
  if (node.items) explain(node.items, table, isOther, `${path}[]`)
  if (typeof node.additionalProperties === 'object') {
    describe(node.additionalProperties, table, `${path}.*`)
    explain(node.additionalProperties, table, isOther, `${path}.*`)
  }
  for (const branch of node.anyOf ?? []) explain(branch, table, isOther, path)
  return node
}

function describe(node: Node, table: Explanations, path: string): void {
  const found = explained(table, path) ?? explained(table, path.replaceAll('[]', ''))
  if (!found) return
  node['description'] = found.text
  if (found.examples) node['examples'] = [...found.examples]
}

function withOff(properties: Record<string, Node>): Record<string, Node> {
  return Object.fromEntries(
    Object.entries(properties).map(([key, { description, examples, ...node }]) => {
      const words = {
        ...(description !== undefined && { description }),
        ...(examples !== undefined && { examples }),
      }
      if (!TURNED_OFF_BY_FALSE.includes(key)) return [key, { ...words, ...node }]
      return [key, { ...words, anyOf: [node, { const: false, description: 'Takes over no default.' }] }]
    }),
  )
}

/** `to`, with what the built-in sinks know of a rule; a plug-in's sink may know more. */
function targets(to: Node, types: readonly SinkType[]): Node {
  const options: Record<string, Node> = {}
  for (const { type, route } of types) {
    if (!route) continue
    const { properties = {} } = explain(plain(route), under(SINKS, `${type}.to`))
    for (const [key, node] of Object.entries(properties))
      options[key] = options[key] ? { anyOf: [options[key], node] } : node
  }
  const byName = {
    type: 'object',
    additionalProperties: { anyOf: [{ type: 'object', properties: options }, { type: 'null' }] },
  }
  const { description, examples } = to
  return {
    description,
    examples,
    anyOf: [
      { type: 'string' },
      { type: 'array', minItems: 1, items: { anyOf: [{ type: 'string' }, byName] } },
      byName,
    ],
  }
}

function includes(defaults: Node): Node {
  const { from: _, ...keys } = defaults.properties ?? {}
  const text = { type: 'string', minLength: 1 }
  const from = { anyOf: [text, { type: 'array', minItems: 1, items: text }] }
  const entry: Node = {
    type: 'object',
    properties: { from, vars: { type: 'object', additionalProperties: {} }, ...keys },
    required: ['from'],
    additionalProperties: false,
  }
  return { anyOf: [text, { type: 'array', items: { anyOf: [text, entry] } }] }
}

/** The bounds that any sink may have. */
function queueIn({ additionalProperties }: Node): Node {
  return (typeof additionalProperties === 'object' && additionalProperties.properties?.['queue']) || {}
}

/** Each sink by its type; of other types, those of plug-ins, nobody knows the options. */
function sinks(types: readonly SinkType[], queue: Node): Node {
  const messages = { $ref: '#/definitions/rule-message' }
  const named = types.map(({ type, config }) => {
    const { properties = {}, required = [] } = explain(plain(config), under(SINKS, type))
    return {
      if: { properties: { type: { const: type } }, required: ['type'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: {
        properties: { type: { const: type }, messages, queue, ...properties },
        required: ['type', ...(required as string[])],
        additionalProperties: false,
      },
    }
  })
  const type = {
    description: FILE['sinks.*.type'],
    anyOf: [{ enum: types.map((it) => it.type) }, { type: 'string', description: 'That of a plug-in.' }],
  }
  return {
    type: 'object',
    minProperties: 1,
    additionalProperties: {
      type: 'object',
      properties: { type, messages, queue },
      required: ['type'],
      allOf: named,
    },
  }
}

function under(table: Explanations, prefix: string): Explanations {
  const entries = Object.entries(table).filter(([key]) => key.startsWith(`${prefix}.`))
  return Object.fromEntries(entries.map(([key, value]) => [key.slice(prefix.length + 1), value]))
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
  const { description, examples, default: usual, ...rest } = open
  const words = { description, examples, default: usual }
  const kept = Object.fromEntries(Object.entries(words).filter(([, value]) => value !== undefined))
  return rest.anyOf && Object.keys(rest).length === 1
    ? { ...kept, anyOf: [...rest.anyOf, REFERENCE] }
    : { ...kept, anyOf: [rest, REFERENCE] }
}

function takesAnyText({ type, pattern, enum: words, anyOf, const: word }: Node): boolean {
  if (anyOf) return anyOf.some(takesAnyText)
  // Anything, or a part that is open already.
  if (type === undefined && words === undefined && word === undefined) return true
  return type === 'string' && pattern === undefined && words === undefined && word === undefined
}
