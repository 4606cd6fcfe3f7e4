import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ROOT } from '../packed.ts'
import { all, pairs, readDockerfile, type Stage } from './dockerfile.ts'

/** What the final stage adds to its base, as files, and how a container starts there. */
export interface FinalStage extends Disposable {
  /** What it was built from. */
  readonly source: string
  /** The root of the files. */
  readonly root: string
  readonly env: Record<string, string>
  /** The program of Node, where the user of the image may run it. */
  readonly node: string
  /** Arguments of Node up to main.js, which is of `root`. */
  readonly nodeArgs: readonly string[]
}

const DEPENDENCIES = /^npm ci /

/** Does what the Dockerfile says, without an engine: the same copies and commands in folders of their own. */
export function makeFinalStage(): FinalStage {
  const [build, final] = readDockerfile() as [Stage, Stage]
  const folder = mkdtempSync(join(tmpdir(), 'kubeherald-image-'))
  const remove = () => {
    spawnSync('chmod', ['-R', 'u+w', folder])
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    chmodSync(folder, 0o755)
    const context = join(folder, 'src')
    mkdirSync(context)
    for (const copy of all(build, 'COPY')) copyInto(context, copy)
    symlinkSync(join(ROOT, 'node_modules'), join(context, 'node_modules'))
    for (const command of all(build, 'RUN')) if (!DEPENDENCIES.test(command)) run(command, folder, build)
  } catch (error) {
    remove()
    throw error
  }
  const root = join(folder, 'out')
  const [node, ...args] = JSON.parse(all(final, 'ENTRYPOINT')[0] as string) as string[]
  if (node !== '/nodejs/bin/node') throw new Error(`the entry point is ${node}`)
  return {
    source: join(folder, 'src'),
    root,
    node: placeNode(folder),
    env: pairs(final, 'ENV'),
    nodeArgs: args.map((it) => (it.startsWith('/') ? join(root, it) : it)),
    [Symbol.dispose]: remove,
  }
}

function placeNode(folder: string): string {
  const node = join(folder, 'node')
  try {
    linkSync(process.execPath, node)
  } catch {
    copyFileSync(process.execPath, node)
  }
  return node
}

function copyInto(context: string, copy: string): void {
  const paths = copy.split(' ')
  const to = paths.pop() as string
  for (const path of paths) {
    const target = to.endsWith('/') ? join(context, to, path) : join(context, to)
    mkdirSync(dirname(target), { recursive: true })
    cpSync(join(ROOT, path), target, {
      recursive: true,
      preserveTimestamps: false,
      filter: (from) => !from.includes('/node_modules'),
    })
  }
}

function run(command: string, folder: string, build: Stage): void {
  const { status, stdout, stderr } = spawnSync(
    'sh',
    ['-ec', command.replaceAll('/out', join(folder, 'out'))],
    {
      cwd: join(folder, 'src'),
      encoding: 'utf8',
      env: { ...pairs(build, 'ARG'), PATH: `${dirname(process.execPath)}:${process.env['PATH']}` },
    },
  )
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stdout}${stderr}`)
}
