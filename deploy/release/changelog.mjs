import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** A file of the repository; empty when it is not there. */
export const readText = (path) => (existsSync(ROOT + path) ? readFileSync(ROOT + path, 'utf8') : '')

/** What the changelog says of a version: the text below its heading, undefined without one. */
export function sectionOf(changelog, version) {
  const sections = changelog.split(/^## /m).slice(1)
  const section = sections.find((it) => /^\[?v?([^\]\s]+)/.exec(it)?.[1] === version)
  return section?.slice(section.indexOf('\n') + 1).trim()
}
