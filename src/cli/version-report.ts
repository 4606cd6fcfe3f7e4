import { commit, version } from '../version.ts'
import { dataText, type OutputOptions } from './output/format.ts'

/** Prints the versions of kubeherald and Node, and the commit where it is known. */
export function printVersion({ output }: OutputOptions): number {
  const report = { version, node: process.versions.node, ...(commit !== undefined && { commit }) }
  const line = [`kubeherald ${version}`, `node ${report.node}`, ...(commit ? [`commit ${commit}`] : [])]
  process.stdout.write(output === 'table' ? `${line.join(', ')}\n` : dataText(report, output))
  return 0
}
