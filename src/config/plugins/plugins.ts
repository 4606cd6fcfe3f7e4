import type { SinkType } from '../../sink/index.ts'
import type { ConfigDocument } from '../document.ts'
import type { Problem } from '../problem.ts'
import { importPlugin, type PluginFault } from './plugin-module.ts'
import { typesOf } from './plugin-type.ts'

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
