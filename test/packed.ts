import { spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { builtFolder } from './program.ts'

export const ROOT = new URL('..', import.meta.url).pathname

/** A folder outside of the repository in which kubeherald is installed as it ships, built from what lies here. */
export interface Elsewhere extends Disposable {
  readonly folder: string
  /** Of the installed kubeherald. */
  readonly main: string
  /** Copies a folder of the repository to here; gives its path. */
  copy(path: string): string
  /** Runs Node in a folder to its end. */
  node(folder: string, ...args: string[]): { status: number | null; output: string }
}

export function installElsewhere(): Elsewhere {
  const folder = mkdtempSync(join(tmpdir(), 'kubeherald-elsewhere-'))
  const modules = join(folder, 'node_modules')
  const home = join(modules, 'kubeherald')
  mkdirSync(home, { recursive: true })
  copyFileSync(join(ROOT, 'package.json'), join(home, 'package.json'))
  linkDependencies(modules)
  cpSync(builtFolder(), join(home, 'dist'), { recursive: true })
  return {
    folder,
    main: join(home, 'dist/main.js'),
    copy(path) {
      const to = join(folder, path)
      cpSync(join(ROOT, path), to, { recursive: true, filter: (from) => !from.endsWith('node_modules') })
      return to
    },
    node: run,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** What npm would install beside it. */
function linkDependencies(modules: string): void {
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (name.startsWith('.') || name === 'kubeherald') continue
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  }
}

function run(folder: string, ...args: string[]): { status: number | null; output: string } {
  // A test runner that finds itself in another's process reports to that one.
  const { NODE_TEST_CONTEXT, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...env, PATH: `${dirname(process.execPath)}:${env['PATH']}`, NO_COLOR: '1' },
  })
  return { status, output: stdout + stderr }
}
