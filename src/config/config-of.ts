import { resolve } from 'node:path'
import type { Config, ConfigFile, SinkConfig } from './schema.ts'

interface ConfigParts extends Pick<Config, 'sinks' | 'routes' | 'secrets' | 'written' | 'placeOf'> {
  /** That of the file. */
  folder: string
}

/** A configuration of what its schema made of the file, and what the types of its sinks did. */
export function configOf(parsed: ConfigFile, { folder, sinks, ...parts }: ConfigParts): Config {
  const { include: _i, vars: _v, defaults: _d, tests: _t, ...data } = parsed
  return {
    ...data,
    kubernetes: resolvePath(parsed.kubernetes, folder),
    sinks: sinks.map((sink) => withCommonKeys(sink, parsed)),
    ...parts,
  }
}

/** Without keys such as `x-ours`, which hold what anchors share, and those that were checked file by file. */
export function checkable(value: unknown): Record<string, unknown> {
  const rest = Object.entries(value as object).filter(
    ([key]) => !key.startsWith('x-') && key !== 'include' && key !== 'defaults',
  )
  return Object.fromEntries(rest)
}

/** Keys that sinks of all types have. */
function withCommonKeys(sink: SinkConfig, { sinks }: ConfigFile): SinkConfig {
  const { messages, queue } = sinks[sink.name] ?? {}
  return { ...sink, ...(messages !== undefined && { messages }), ...(queue !== undefined && { queue }) }
}

/** A kubeconfig is found from the configuration, wherever the program was started. */
function resolvePath({ kubeconfig, ...rest }: Config['kubernetes'], folder: string): Config['kubernetes'] {
  return kubeconfig === undefined ? rest : { ...rest, kubeconfig: resolve(folder, kubeconfig) }
}
