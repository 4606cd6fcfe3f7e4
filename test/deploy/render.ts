import { join } from 'node:path'
import { parseAllDocuments, stringify } from 'yaml'
import { runTool } from '../servers/deploy-tools.ts'

export const ROOT = new URL('../..', import.meta.url).pathname
export const CHART = join(ROOT, 'deploy/helm/kubeherald')

/** A manifest, as it is applied. */
export interface Manifest {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    namespace?: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
  }
  [field: string]: any
}

/** `helm template` with these values; throws with what Helm says. */
export async function renderChart(
  values: object,
  namespace = 'kubeherald',
  release = 'herald',
): Promise<Manifest[]> {
  const args = ['template', release, CHART, '--namespace', namespace, '--values', '-']
  const { code, stdout, stderr } = await runTool('helm', args, stringify(values))
  if (code !== 0) throw new Error(stderr)
  return parse(stdout)
}

/** What Helm says of these values, without its own framing; fails when it takes them. */
export async function refusal(values: object): Promise<string> {
  const said = await renderChart(values).then(
    () => undefined,
    (error: Error) => error.message,
  )
  if (said === undefined) throw new Error('these values were taken')
  return said
    .replace(/^Error: (execution error at \([^)]*\): )?/, '')
    .replace(/\n+Use --debug[\s\S]*/, '')
    .replace(/^values don't meet[^\n]*\nkubeherald:\n/, '')
    .trim()
}

/** `kustomize build` of an overlay; throws with what kustomize says. */
export async function renderOverlay(folder: string): Promise<Manifest[]> {
  const { code, stdout, stderr } = await runTool('kustomize', ['build', folder])
  if (code !== 0 || stderr) throw new Error(stderr)
  return parse(stdout)
}

/** As Kubernetes reads YAML: version 1.1, so that 0440 is octal. */
export function parse(text: string): Manifest[] {
  return parseAllDocuments(text, { version: '1.1' }).flatMap((document) => {
    const value = document.toJS() as Manifest | null
    return value ? [value] : []
  })
}

export function find(manifests: readonly Manifest[], kind: string, name?: string): Manifest {
  const found = manifests.filter(
    (it) => it.kind === kind && (name === undefined || it.metadata.name === name),
  )
  if (found.length !== 1) throw new Error(`${found.length} of ${kind} ${name ?? ''}`)
  return found[0]!
}
