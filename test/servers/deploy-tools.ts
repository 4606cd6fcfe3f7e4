import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'

const MODULE = new URL('deploy-tools/', import.meta.url).pathname
const TOOLS = ['helm', 'kustomize'] as const
const DEFINITIONS = [
  'keda.sh_scaledobjects.yaml',
  'monitoring.coreos.com_podmonitors.yaml',
  'monitoring.coreos.com_prometheusrules.yaml',
  'monitoring.coreos.com_servicemonitors.yaml',
]

/** Where they lie: the folder that the set-up fills, as deploy/local/deploy-tools.mjs names it. */
export function deployToolsFolder(): string {
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'crds/go.mod']) hash.update(readFileSync(join(MODULE, file)))
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return join(cache, 'kubeherald', `deploy-tools-${hash.digest('hex').slice(0, 12)}`)
}

export function hasDeployTools(): boolean {
  return [...TOOLS, ...DEFINITIONS].every((name) => existsSync(join(deployToolsFolder(), name)))
}

/** The custom resource definitions of other projects, as these publish them. */
export function foreignDefinitions(): string[] {
  return DEFINITIONS.map((name) => readFileSync(join(deployToolsFolder(), name), 'utf8'))
}

export interface Ended {
  code: number
  stdout: string
  stderr: string
}

/** Runs Helm or kustomize to its end, in a home of its own. */
export async function runTool(
  tool: (typeof TOOLS)[number],
  args: readonly string[],
  input = '',
): Promise<Ended> {
  const home = mkdtempSync(join(tmpdir(), 'kubeherald-tool-'))
  try {
    const env = { PATH: process.env['PATH'], HOME: home }
    const child = spawn(join(deployToolsFolder(), tool), args, { env, stdio: 'pipe' })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk) => {
      stdout += chunk
    })
    child.stderr.on('data', (chunk) => {
      stderr += chunk
    })
    // A tool that reads no input may close it, or end, before it is written: EPIPE.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    const [code] = (await once(child, 'close')) as [number]
    return { code, stdout, stderr }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
