// The licences of what the bundle contains, as their terms ask of whoever passes copies on.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const PACKAGE = /^([^:]*node_modules\/(?:@[^/]+\/)?[^/]+)\//
const LICENCE_FILE = /^(licen[cs]e|copying|notice)([.-].*)?$/i

/** One text: each package with its version, SPDX expression and licence file. `inputs` as in a metafile of esbuild. */
export function licencesOf(inputs, root) {
  const folders = new Set(Object.keys(inputs).flatMap((path) => PACKAGE.exec(path)?.[1] ?? []))
  const entries = [...folders].map((folder) => describe(join(root, folder)))
  const unique = new Map(entries.map((entry) => [entry.title, entry.text]))
  const titles = [...unique.keys()].toSorted()
  return `What is bundled here, and its licences.\n\n${titles.map((title) => unique.get(title)).join('\n')}`
}

function describe(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  if (typeof license !== 'string') throw new Error(`${name} ${version} in ${folder} names no licence`)
  const files = readdirSync(folder).filter(
    (file) => LICENCE_FILE.test(file) && existsSync(join(folder, file)),
  )
  const texts = files.toSorted().map((file) => readFileSync(join(folder, file), 'utf8').trim())
  const title = `${name} ${version} (${license})`
  return { title, text: [`---- ${title}`, ...texts, ''].join('\n\n') }
}
