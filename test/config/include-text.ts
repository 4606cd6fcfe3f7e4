import { resolve } from 'node:path'
import { expandGlob, FileTooLarge, type IncludeFiles } from '../../src/config/include/files.ts'
import { type Loaded, type LoadOptions, loadConfig } from '../../src/config/load.ts'
import { builtInSinks } from '../../src/sink-types.ts'

const FOLDER = '/etc/kubeherald'

/** Files by their paths from the configuration's folder; a text `"FOLDER"` is a folder, `"LARGE"` a file that is too large. */
export function filesOf(texts: Readonly<Record<string, string>>): IncludeFiles {
  const byPath = new Map(Object.entries(texts).map(([name, text]) => [resolve(FOLDER, name), text]))
  const fault = (code: string) => Object.assign(new Error(code), { code })
  return {
    read(path) {
      const text = byPath.get(path)
      if (text === undefined) throw fault('ENOENT')
      if (text === 'FOLDER') throw fault('EISDIR')
      if (text === 'LARGE') throw new FileTooLarge()
      return Buffer.from(text)
    },
    list: (pattern) =>
      expandGlob(pattern, (folder) => {
        const inside = [...byPath.keys()].filter((path) => path.startsWith(`${folder}/`))
        if (inside.length === 0) throw fault('ENOENT')
        const names = new Map(
          inside.map((path) => {
            const [name = '', ...rest] = path.slice(folder.length + 1).split('/')
            return [name, rest.length > 0]
          }),
        )
        return [...names].map(([name, isFolder]) => ({ name, isFolder }))
      }),
  }
}

/** Loads `main` with files beside it, without touching the disk. */
export function loadFiles(
  main: string,
  texts: Readonly<Record<string, string>> = {},
  options: Partial<LoadOptions> = {},
): Promise<Loaded> {
  const readFile = (path: string) => {
    const text = texts[path.slice(FOLDER.length + 1)]
    if (text === undefined) throw Object.assign(new Error(path), { code: 'ENOENT' })
    return text
  }
  const file = `${FOLDER}/kubeherald.yaml`
  const common = { env: {}, readFile, sinkTypes: builtInSinks, files: filesOf(texts) }
  return loadConfig({ ...common, file, text: main, ...options })
}

/** Each problem, or each warning when there is none, as `file:line:column message = hint`. */
export async function toldOf(
  main: string,
  texts: Readonly<Record<string, string>> = {},
  options: Partial<LoadOptions> = {},
): Promise<string[]> {
  const loaded = await loadFiles(main, texts, options)
  const found = loaded.ok ? loaded.warnings : loaded.problems
  return found.map(({ file, line, column, message, hint, severity }) => {
    const place = `${file.replace(`${FOLDER}/`, '')}:${line}:${column}`
    const text = `${severity === 'warning' ? 'warning: ' : ''}${place} ${message}${hint === undefined ? '' : ` = ${hint}`}`
    return text.replaceAll(`${FOLDER}/`, '')
  })
}
