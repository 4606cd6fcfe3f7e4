import type { SinkType } from '../../sink/index.ts'
import { isMap } from '../../text/plain-data.ts'
import type { ConfigDocument } from '../document.ts'
import type { Problem } from '../problem.ts'
import { importPlugin, type PluginFault } from './plugin-module.ts'

interface PluginOptions {
  /** The folder of the configuration, from which names are resolved. */
  folder: string
  /** Names of built-in sink types, which a plug-in cannot use. */
  builtIn: readonly string[]
  /** What turned plug-ins off, such as `--no-plugins`. */
  off: string | undefined
}

interface Plugins {
  /** Sink types by the value of `type`. */
  types: Readonly<Record<string, SinkType>>
  problems: Problem[]
}

/** Loads the modules under `plugins:`. A problem is reported at its entry, and the others are loaded all the same. */
export async function loadPlugins(document: ConfigDocument, options: PluginOptions): Promise<Plugins> {
  const entries = document.at(['plugins'])?.items ?? []
  const owners = new Map<string, { file: string; type: SinkType }>()
  const problems: Problem[] = []
  if (options.off !== undefined && entries.length > 0)
    return { types: {}, problems: [turnedOff(document, options.off)] }
  for (const [i, { value, written }] of entries.entries()) {
    if (typeof value !== 'string' || value === '') continue
    const { file, types, faults } = await loadPlugin(value, options.folder)
    const clashes = types.flatMap(({ type }): PluginFault[] => {
      const owner = owners.get(type)
      if (options.builtIn.includes(type))
        return [{ message: `its type "${type}" is a built-in one`, hint: 'give it a name of its own' }]
      return owner ? [{ message: `its type "${type}" is that of ${owner.file} already` }] : []
    })
    for (const type of types) if (!owners.has(type.type)) owners.set(type.type, { file, type })
    for (const { message, hint } of [...faults, ...clashes])
      problems.push(
        document.problem(
          'invalid-plugin',
          ['plugins', i],
          `the plug-in ${written ?? file}${message.startsWith('its') ? ': ' : ' '}${message}`,
          { hint },
        ),
      )
  }
  return { types: Object.fromEntries([...owners].map(([name, { type }]) => [name, type])), problems }
}

async function loadPlugin(name: string, folder: string) {
  const module = await importPlugin(name, folder)
  if (!module.ok) return { file: module.file, types: [], faults: [module.fault] }
  return { file: module.file, ...typesOf(module.exported) }
}

function turnedOff(document: ConfigDocument, off: string): Problem {
  return document.problem('plugins-off', ['plugins'], `plug-ins are turned off by ${off}`, {
    atKey: true,
    hint: 'leave this key out, or start without that',
  })
}

const API_VERSION = 1
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/
const HOW = 'write: export default defineSink({ apiVersion: 1, type: …, config: …, open: … })'

/** Returns the sink types that a module exports as default, one or a list, or their faults. */
function typesOf(exported: Readonly<Record<string, unknown>>): {
  types: SinkType[]
  faults: PluginFault[]
} {
  const value = defaultOf(exported)
  if (value === undefined) return { types: [], faults: [{ message: 'has no default export', hint: HOW }] }
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length === 0)
    return { types: [], faults: [{ message: 'exports an empty list of sink types', hint: HOW }] }
  const faults = list.flatMap((it, i) =>
    faultsOf(it, Array.isArray(value) ? `its list, entry ${i + 1},` : 'its default export'),
  )
  return { types: faults.length > 0 ? [] : (list as SinkType[]), faults }
}

/** A module that was compiled to CommonJS has its default export one level deeper. */
function defaultOf(exported: Readonly<Record<string, unknown>>): unknown {
  const value = exported['default']
  return isMap(value) && value['__esModule'] === true ? value['default'] : value
}

function faultsOf(value: unknown, what: string): PluginFault[] {
  if (!isMap(value)) {
    const found = value == null ? String(value) : Array.isArray(value) ? 'a list' : `a ${typeof value}`
    return [{ message: `${what} is ${found}, not a sink type`, hint: HOW }]
  }
  const { apiVersion, type } = value
  // The checks below are for this version of the contract only.
  if (apiVersion !== API_VERSION) return [versionFault(apiVersion, what)]
  const faults: PluginFault[] = []
  const refuse = (isFault: boolean, message: string, hint?: string) => {
    if (isFault)
      faults.push({ message: `${what.replace(/,$/, '')}: ${message}`, ...(hint !== undefined && { hint }) })
  }
  const name = typeof type === 'string' && NAME.test(type)
  refuse(!name, `type ${JSON.stringify(type)} is not a name`, 'use letters, digits, ".", "_" and "-"')
  const schema = 'zod 4, valibot and arktype make such schemas'
  refuse(!isSchema(value['config']), 'config is not a Standard Schema', schema)
  refuse(value['route'] !== undefined && !isSchema(value['route']), 'route is not a Standard Schema', schema)
  const older = value['create'] === undefined ? undefined : 'what is called "create" there is "open" here'
  refuse(typeof value['open'] !== 'function', 'open is not a function', older)
  for (const key of ['lane', 'escape'])
    refuse(value[key] !== undefined && typeof value[key] !== 'function', `${key} is not a function`)
  const batch = value['maxBatch'] ?? 1
  refuse(!Number.isInteger(batch) || Number(batch) < 1, 'maxBatch is not a whole number from 1')
  return faults
}

function versionFault(apiVersion: unknown, what: string): PluginFault {
  if (apiVersion === undefined)
    return {
      message: `${what} has no apiVersion`,
      hint: `this kubeherald has apiVersion: ${API_VERSION}`,
    }
  return {
    message: `${what} is written for version ${JSON.stringify(apiVersion)} of the contract; this kubeherald has version ${API_VERSION}`,
    hint: 'install the version of the plug-in, or of kubeherald, that fits the other',
  }
}

function isSchema(value: unknown): boolean {
  const standard = (
    value as { '~standard'?: { version?: unknown; validate?: unknown } } | null | undefined
  )?.['~standard']
  return standard?.version === 1 && typeof standard.validate === 'function'
}
