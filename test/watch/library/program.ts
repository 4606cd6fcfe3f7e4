import { appendFileSync } from 'node:fs'

/**
 * `program.ts LIBRARY KUBECONFIG CHECKPOINT OUTPUT [COUNT]`: appends a line of JSON for each change of the ConfigMaps in `default`, and
 * leaves the loop with the one that is `COUNT`th.
 */
const [library = '', kubeconfig = '', checkpoint = '', output = '', count = 'Infinity'] =
  process.argv.slice(2)
const { fileCheckpoint, watch } = (await import(
  library
)) as typeof import('../../../src/watch/library/index.ts')

let changes = 0
const kinds = [{ kind: 'ConfigMap', namespaces: ['default'] }]
for await (const change of watch({ kinds, kubeconfig, checkpoint: fileCheckpoint(checkpoint) })) {
  const { type, name, resourceVersion, synthesized } = change
  appendFileSync(output, `${JSON.stringify({ type, name, resourceVersion, synthesized })}\n`)
  if (++changes === Number(count)) break
}
