import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
// @ts-expect-error a script without types
import { publishedManifest } from '../deploy/release/package.mjs'
import { builtFolder } from './program.ts'

export const ROOT = new URL('..', import.meta.url).pathname

/** A folder outside of the repository in which kubeherald is installed as npm does, built from these sources. */
export interface Elsewhere extends Disposable {
  readonly folder: string
  /** Of the installed kubeherald. */
  readonly main: string
  /** Copies a folder of the repository to here; gives its path. */
  copy(path: string): string
  /** Runs Node in a folder to its end. */
  node(folder: string, ...args: string[]): { status: number | null; output: string }
}

/** `own`: packages that a project there installs by itself. */
export function installElsewhere(...own: readonly string[]): Elsewhere {
  const folder = mkdtempSync(join(tmpdir(), 'kubeherald-elsewhere-'))
  const modules = join(folder, 'node_modules')
  const home = join(modules, 'kubeherald')
  mkdirSync(home, { recursive: true })
  cpSync(builtFolder(), join(home, 'dist'), { recursive: true })
  const manifest: { dependencies: Record<string, string> } = publishedManifest(join(home, 'dist/types'))
  writeFileSync(join(home, 'package.json'), JSON.stringify(manifest))
  for (const name of [...Object.keys(manifest.dependencies), ...own]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  }
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
