// The site of the documentation: `npm run docs` builds it, `npm run docs -- dev` serves it.
import { defineConfig } from 'vitepress'
import { HOME, NAVIGATION, SIDEBAR } from './navigation.mjs'
import { otherMarkdown, ROOT, rewriteLinks, sitePath } from './pages.mjs'

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#3451b2"/><path d="M10 7v18M22 8 11 17l11 8" fill="none" stroke="#fff" stroke-width="4"/></svg>'

export default defineConfig({
  title: 'kubeherald',
  description:
    'Forwards Kubernetes changes and Events to Slack, Kafka, webhooks and log stores, without losing any.',
  lang: 'en',
  base: process.env.DOCS_BASE ?? '/',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  srcDir: ROOT,
  srcExclude: otherMarkdown(),
  rewrites: sitePath,
  cleanUrls: true,
  metaChunk: true,
  markdown: {
    config(md) {
      rewriteLinks(md)
      escapeTemplates(md)
      keepOptionsWhole(md)
    },
    anchor: { slugify: anchorOfGitHub },
  },
  transformPageData: ({ relativePath }) => (relativePath === 'index.md' ? { frontmatter: HOME } : undefined),
  vite: { plugins: [vueOfThisPackage()] },
  themeConfig: {
    nav: NAVIGATION,
    sidebar: SIDEBAR,
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    editLink: {
      pattern: 'https://github.com/kubeherald/kubeherald/edit/main/:path',
      text: 'Edit this page on GitHub',
    },
  },
})

/** Pages are outside of this package, so Vite does not find Vue from them. What renders them to HTML runs within it. */
function vueOfThisPackage() {
  return {
    name: 'vue-of-this-package',
    enforce: 'pre',
    resolveId: (id, _importer, { ssr }) =>
      ssr && /^vue($|\/)/.test(id) ? { id, external: true } : undefined,
  }
}

/** Links within the repository are written for GitHub, so headings have the anchors that GitHub gives them. */
function anchorOfGitHub(title) {
  return title
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

/** Vue would evaluate the `{{ … }}` of our templates. It does so in text and inline code, not in code blocks. */
function escapeTemplates({ renderer: { rules } }) {
  for (const name of ['text', 'code_inline']) {
    const render = rules[name]
    rules[name] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
  }
}

/** A browser breaks a line after a hyphen, also between those of `--config`. */
function keepOptionsWhole({ renderer: { rules } }) {
  const render = rules.code_inline
  rules.code_inline = (...args) =>
    render(...args).replace(/(?<=[>\s,(])--?[a-z][\w-]*/gi, '<span class="option">$&</span>')
}
