import { createDryRun, type DryRun } from '../../../src/app/dry-run/dry-run.ts'
import { fillPlaceholders, PLACEHOLDER } from '../../../src/cli/load-config/placeholder-secrets.ts'
import { readDocument } from '../../../src/config/document.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { allSinks, sinkLoader } from '../../../src/sink-types.ts'

/** Returns a dry run of a configuration whose secrets are placeholders; throws if it is not valid. */
export async function dryRunOf(text: string): Promise<DryRun> {
  const readFile = () => {
    throw Object.assign(new Error(), { code: 'ENOENT' })
  }
  const source = {
    file: 'kubeherald.yaml',
    text,
    env: {},
    readFile,
    standIn: PLACEHOLDER,
    sinkTypes: allSinks,
  }
  const filled = await fillPlaceholders(readDocument('kubeherald.yaml', text, source).root, source)
  const loaded = await loadConfig({ ...source, ...filled })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return createDryRun({ config: loaded.config, load: sinkLoader() })
}
