import * as z from 'zod'
import { jsonSchemaOf, type Node } from '../../config/schema/json-schema.ts'
import { ConfigFile } from '../../config/schema.ts'
import type { Located } from '../../config/source-node.ts'
import { hideSecrets } from '../../config/values/hide-secrets.ts'
import { hideTexts, isNamePlace } from '../../config/values/secrets.ts'
import { allSinks } from '../../sink-types.ts'
import { isMap } from '../../text/plain-data.ts'
import { type PluginOptions, readDryConfiguration } from '../load-config/configuration.ts'
import { type DataFormat, dataText } from '../output/format.ts'

interface ShowOptions extends PluginOptions {
  config?: string
  defaults?: boolean
  output: DataFormat
}

/** Prints the configuration as kubeherald reads it: all files in one, without secrets. */
export async function showConfig(options: ShowOptions): Promise<number> {
  const { document, hide } = await readDryConfiguration(options.config, options)
  const merged = mergedConfig(document.at([]))
  const whole = options.defaults ? await withDefaults(merged) : merged
  process.stdout.write(dataText(hideTexts(whole, hide, isNamePlace), options.output))
  return 0
}

/** Keys that are resolved in the values of other keys. */
const RESOLVED = ['include', 'vars', 'defaults']

/** Returns the keys of the main file with the rules, watches and tests of all files; references as they are written, no secrets. */
export function mergedConfig(root: Located | undefined): Record<string, unknown> {
  const entries = [...(root?.entries ?? [])].filter(
    ([key]) => !RESOLVED.includes(key) && !key.startsWith('x-'),
  )
  const values = entries.map(([key, { value }]) => [key, writtenValue(value)] as const)
  return Object.fromEntries(
    values.map(([key, value]) => {
      if (key === 'sinks' || key === 'redis' || key === 'server') return [key, hideSecrets(value)]
      return [key, key === 'rules' && Array.isArray(value) ? value.map(withoutRouteSecrets) : value]
    }),
  )
}

function withoutRouteSecrets(rule: unknown): unknown {
  return isMap(rule) && rule['to'] !== undefined ? { ...rule, to: hideSecrets(rule['to']) } : rule
}

/** A value as it would be written in one file: variables filled in, `${env:…}` and `${file:…}` left, a plain `${` escaped. */
function writtenValue(at: Located): unknown {
  if (at.items) return at.items.map(writtenValue)
  if (at.entries)
    return Object.fromEntries([...at.entries].map(([key, { value }]) => [key, writtenValue(value)]))
  if (at.secrets.length > 0) return at.written ?? '***'
  return typeof at.value === 'string' ? at.value.replaceAll('${', () => '$${') : at.value
}

type Plain = Readonly<Record<string, unknown>>

/** Adds the keys that a configuration does not have, with the defaults of its JSON Schema; those of plug-ins' sinks are not known. */
async function withDefaults(config: Plain): Promise<Plain> {
  const root = await jsonSchemaOf({ sinkTypes: allSinks })
  // The JSON Schema has no default of a key whose values are transformed.
  const added = Object.entries(ConfigFile.shape).flatMap(([key, schema]) =>
    schema instanceof z.ZodDefault && !Object.hasOwn(config, key) && !isEmpty(schema.def.defaultValue)
      ? [[key, schema.def.defaultValue]]
      : [],
  )
  const definitions = root['definitions'] as Readonly<Record<string, Node>>
  return filled({ ...config, ...Object.fromEntries(added) }, root, definitions) as Plain
}

function filled(value: unknown, reference: Node, definitions: Readonly<Record<string, Node>>): unknown {
  const node = definitionOf(reference, definitions)
  if (value === undefined) {
    const usual = node['default']
    return isMap(usual) ? filled(usual, node, definitions) : usual
  }
  if (Array.isArray(value)) {
    const items = branchesOf(node).find((it) => it.items)?.items
    return items ? value.map((it) => filled(it, items, definitions)) : value
  }
  if (!isMap(value)) return value
  const branches = branchesOf(node, value)
  const properties = Object.assign({}, ...branches.map((it) => it.properties ?? {})) as Record<string, Node>
  const rest = branches
    .map(({ additionalProperties }) => additionalProperties)
    .find((it) => typeof it === 'object')
  const names = [...new Set([...Object.keys(value), ...Object.keys(properties)])]
  const entries = names.map((name) => {
    const own = Object.hasOwn(value, name) ? value[name] : undefined
    const child = Object.hasOwn(properties, name) ? properties[name] : rest
    return [name, child ? filled(own, child, definitions) : own] as const
  })
  return Object.fromEntries(entries.filter(([name, it]) => Object.hasOwn(value, name) || !isEmpty(it)))
}

/** Options that several types of sinks have are definitions. */
function definitionOf(node: Node, definitions: Readonly<Record<string, Node>>): Node {
  const name = /^#\/definitions\/(.*)$/.exec(String(node['$ref']))?.[1]
  return (name === undefined ? undefined : definitions[name]) ?? node
}

function isEmpty(value: unknown): boolean {
  if (isMap(value)) return Object.keys(value).length === 0
  return value === undefined || (Array.isArray(value) && value.length === 0)
}

/** The schemas that a value may have to satisfy; of those by the type of a sink, the one of its type. */
function branchesOf(node: Node, value?: Plain): Node[] {
  const conditional = (node['allOf'] as { if: Node; then: Node }[] | undefined) ?? []
  const ofType = conditional.filter((it) => it.if?.properties?.['type']?.['const'] === value?.['type'])
  return [node, ...ofType.map((it) => it.then), ...(node.anyOf ?? []).flatMap((it) => branchesOf(it, value))]
}
