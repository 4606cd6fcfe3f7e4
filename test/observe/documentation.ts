import { globSync, readdirSync, readFileSync } from 'node:fs'
import { type Document, parseAllDocuments } from 'yaml'

const ROOT = new URL('../../', import.meta.url)

/** The README and everything in docs. */
export const PAGES = [
  'README.md',
  ...readdirSync(new URL('docs', ROOT)).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
]

/** All pages of the repository, whoever reads them. */
export const ALL_PAGES = [
  '*',
  'docs/**/*',
  'deploy/**/*',
  'sinks/**/*',
  'docs/examples/**/*',
  'src/**/*',
  'test/*',
]
  .flatMap((place) => globSync(`${place}.md`, { cwd: ROOT.pathname, exclude: ['**/node_modules/**'] }))
  .toSorted()

/** Where a page leads within the repository, as written, with what that is. */
export function linksOf(page: string): { link: string; target: URL; anchor: string | undefined }[] {
  return [...textOf(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = '']) => {
    const [path = '', anchor] = link.split('#')
    return { link, target: new URL(path || page.split('/').at(-1) || '', new URL(page, ROOT)), anchor }
  })
}

export function textOf(page: string): string {
  return readFileSync(new URL(page, ROOT), 'utf8')
}

/** The YAML documents of a page, with where each begins. */
export function yamlIn(page: string): { place: string; document: Document }[] {
  const text = textOf(page)
  return [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].flatMap(({ 1: yaml = '', index }) => {
    const line = text.slice(0, index).split('\n').length + 1
    const documents = parseAllDocuments(yaml)
    if ('empty' in documents) throw new Error(`${page}:${line}: the block is empty`)
    return documents.map((document, i) => ({ place: `${page}:${line}, document ${i + 1}`, document }))
  })
}
