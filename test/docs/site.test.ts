import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ROOT = new URL('../../', import.meta.url).pathname
const SITE = join(ROOT, 'docs/.vitepress')

let dir: string
let output: string
/** The HTML of each page, by its path on the site, such as `rules/kind.html`. */
let pages: ReadonlyMap<string, string>

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubeherald-site-'))
  const vitepress = join(SITE, 'node_modules/vitepress/bin/vitepress.js')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [vitepress, 'build', '..', '--outDir', dir],
    {
      cwd: SITE,
      encoding: 'utf8',
      env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, NO_COLOR: '1' },
    },
  )
  output = stdout + stderr
  expect(status, output).toBe(0)
  const files = globSync('**/*.html', { cwd: dir }).filter((file) => file !== '404.html')
  pages = new Map(files.map((file) => [file, readFileSync(join(dir, file), 'utf8')]))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

test('every page of docs, sinks and the deployment is on the site', () => {
  const sources = globSync('{docs,sinks}/**/*.md', { cwd: ROOT, exclude: ['**/node_modules/**'] })
  const missing = sources.filter((file) => {
    const page = file
      .replace(/^docs\//, '')
      .replace(/README\.md$/, 'index.md')
      .replace(/\.md$/, '.html')
    return !pages.has(page)
  })
  expect(sources.length).toBeGreaterThan(50)
  expect(missing).toEqual([])
  for (const page of [
    'deploy/index.html',
    'deploy/helm/kubeherald/index.html',
    'rules/rule-sets.html',
    'changelog.html',
  ])
    expect([...pages.keys()]).toContain(page)
})

test('the menu leads to every page', () => {
  const menu =
    /<nav[^>]*id="VPSidebarNav"[\s\S]*?<\/nav>/.exec(pages.get('quick-start.html') ?? '')?.[0] ?? ''
  const linked = new Set(linksIn(menu).map(fileOf))
  expect([...pages.keys()].filter((page) => page !== 'index.html' && !linked.has(page))).toEqual([])
})

test('no link within the site is dead, and each leads to a heading that exists', () => {
  const dead = [...pages].flatMap(([page, html]) =>
    linksIn(html)
      .map((href) => (href.startsWith('#') ? `/${page.replace(/(index)?\.html$/, '')}${href}` : href))
      .filter((href) => href.startsWith('/') && !isAlive(href))
      .map((href) => `${page}: ${href}`),
  )
  expect([...new Set(dead)]).toEqual([])
})

test('links out of the site lead to files of the repository that exist', () => {
  const files = [...pages.values()].flatMap((html) =>
    [...html.matchAll(/href="https:\/\/github\.com\/kubeherald\/kubeherald\/blob\/main\/([^"#]+)/g)].map(
      ([, file = '']) => file,
    ),
  )
  expect(files.length).toBeGreaterThan(20)
  expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([])
})

test('a page loads nothing from other hosts', () => {
  const loaded = [...pages.values()].flatMap((html) => [
    ...html.matchAll(/<(?:script|img|link)[^>]*(?:src|href)="(?:https?:)?\/\/[^"]+"/g),
  ])
  expect(loaded.map(([tag]) => tag)).toEqual([])
  const styles = globSync('assets/*.css', { cwd: dir }).map((file) => readFileSync(join(dir, file), 'utf8'))
  expect(styles.join('\n')).not.toMatch(/url\(["']?https?:|@import/)
})

function linksIn(html: string): string[] {
  return [...html.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'))
}

/** Returns the file of a link within the site. */
function fileOf(href: string): string {
  const path = decodeURI(href.split('#')[0] ?? '').slice(1)
  return path === '' || path.endsWith('/') ? `${path}index.html` : `${path}.html`
}

function isAlive(href: string): boolean {
  const [path = '', anchor] = href.split('#')
  if (/\.\w+$/.test(path)) return existsSync(join(dir, path))
  const html = pages.get(fileOf(href))
  if (html === undefined) return false
  return !anchor || html.includes(`id="${decodeURIComponent(anchor)}"`)
}
