// Which files of the repository are pages of the site, and where they are on it. A page has one source, which GitHub shows, too.
import { existsSync, globSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const REPOSITORY = 'https://github.com/kubeherald/kubeherald'

const INCLUDED = [
  'docs/**/*.md',
  'sinks/**/*.md',
  'deploy/README.md',
  'deploy/{helm/kubeherald,image,kustomize}/README.md',
  'src/rules/sets/README.md',
  'SECURITY.md',
  'CHANGELOG.md',
]

/** Paths of the pages' files from the root of the repository. */
export const PAGES = markdown(INCLUDED)

/** Markdown files that are no pages: for contributors, or only for GitHub. */
export function otherMarkdown() {
  const pages = new Set(PAGES)
  return markdown(['**/*.md']).filter((file) => !pages.has(file))
}

/** Returns the path of a page on the site, such as `rules/kind.md` of `docs/rules/kind.md`. */
export function sitePath(source) {
  return source
    .replace(/^docs\//, '')
    .replace(/^src\/rules\/sets\/README\.md$/, 'rules/rule-sets.md')
    .replace(/^(SECURITY|CHANGELOG)\.md$/, (name) => name.toLowerCase())
    .replace(/(^|\/)README\.md$/, '$1index.md')
}

/**
 * A plug-in of markdown-it. Links that work on GitHub work on the site: one to a page leads to the page, one to another file
 * to the file on GitHub. Throws on a link to a file that does not exist.
 */
export function rewriteLinks(md) {
  md.core.ruler.push('links-of-the-repository', ({ tokens, env }) => {
    const source = relative(ROOT, env.realPath ?? env.path)
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type !== 'link_open') continue
      const href = token.attrGet('href')
      if (/^([a-z]+:|#|\/)/.test(href)) continue
      token.attrSet('href', hrefOnSite(href, source))
    }
  })
}

function hrefOnSite(href, source) {
  const [path, anchor] = href.split('#')
  const target = posix.join(dirname(source), decodeURI(path)).replace(/\/$/, '')
  if (!existsSync(join(ROOT, target)))
    throw new Error(`${source}: there is no ${target} for the link ${href}`)
  const page = [target, `${target}/README.md`].find((file) => PAGES.includes(file))
  const end = anchor === undefined ? '' : `#${anchor}`
  return page ? `/${sitePath(page)}${end}` : `${REPOSITORY}/blob/main/${target}${end}`
}

function markdown(patterns) {
  const exclude = ['**/node_modules', '**/node_modules/**', '.*/**']
  return patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT, exclude })).toSorted()
}
