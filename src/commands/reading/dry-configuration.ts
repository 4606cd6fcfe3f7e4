import { readDocument } from '../../config/document.ts'
import type { JoinedDocument } from '../../config/joined-document.ts'
import { type LoadOptions, loadConfig } from '../../config/load.ts'
import { STANDARD_INPUT } from '../../config/read-text.ts'
import type { Config } from '../../config/schema.ts'
import { referencesShown, secretsHider } from '../../config/shown-values.ts'
import { STARTER } from '../../config/starter.ts'
import type { DryRunOptions } from '../../dry-run/dry-run.ts'
import { builtInSinks, sinkLoader } from '../../sink-types.ts'
import { STAND_IN } from '../check/check-absent.ts'
import { badConfiguration, configurationFile, type PluginOptions, pluginsOff } from './configuration.ts'
import { FileReads } from './file-reads.ts'
import { MAX_FILE_BYTES, readPlainFile } from './plain-file.ts'
import { readConfigurationText } from './read-once.ts'
import { standIns } from './stand-ins.ts'

export interface DryConfiguration extends DryRunOptions {
  config: Config
  /** As problems call it. */
  file: string
  /** Of all its files, by the names that problems have. */
  texts: ReadonlyMap<string, string>
  document: JoinedDocument
  /** Takes out of a text what `${env:…}` and `${file:…}` stand for. */
  hide(text: string): string
}

/**
 * Reads a configuration that nothing is sent by: secrets that are not here are stood in for. A bad one is told whole, and
 * ends the command with 2.
 */
export async function readDryConfiguration(
  option: string | undefined,
  plugins?: PluginOptions,
): Promise<DryConfiguration> {
  const named = configurationFile(option)
  const file = named === '-' ? STANDARD_INPUT : (named ?? 'built-in starter')
  const text = named === undefined ? STARTER : await readConfigurationText(named)
  const source: LoadOptions = {
    file,
    text,
    env: process.env,
    readFile: (path) => readPlainFile(path, MAX_FILE_BYTES).toString('utf8'),
    files: new FileReads().included,
    sinkTypes: builtInSinks,
    pluginsOff: pluginsOff(plugins ?? {}),
    standIn: STAND_IN,
  }
  const { root } = readDocument(file, text, source)
  const { placeholders, ...filled } = standIns(root, source)
  const loaded = await loadConfig({ ...source, ...filled })
  if (!loaded.ok) throw badConfiguration(file, loaded.problems, loaded.texts)
  const { document, texts, sinkTypes } = loaded
  const written = referencesShown(document.at([])) as Record<string, unknown>
  const config = { ...loaded.config, written }
  return {
    config,
    document,
    file,
    texts,
    load: sinkLoader(sinkTypes),
    hide: secretsHider(document, placeholders),
  }
}
