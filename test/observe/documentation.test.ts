import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { LEASE_RIGHTS } from '../../src/cli/rbac/permissions.ts'
import { ALL_PAGES, linksOf, PAGES, textOf, yamlIn } from './documentation.ts'

const ROOT = new URL('../../', import.meta.url)
const BLOCKS = PAGES.flatMap(yamlIn)

test.each(BLOCKS.map((it) => [it.place, it] as const))('the YAML at %s can be read', (_, { document }) => {
  expect([...document.errors, ...document.warnings]).toEqual([])
})

interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string }
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[] }[]
  roleRef?: { apiGroup: string; kind: string; name: string }
  subjects?: { kind: string; name: string; namespace: string }[]
}

const MANIFESTS = BLOCKS.map(({ place, document }) => [place, document.toJS() as Manifest] as const).filter(
  ([, it]) => it.kind ?? it.roleRef ?? it.rules?.[0]?.verbs,
)

test('there are manifests of permissions', () => {
  expect(MANIFESTS.map(([, { kind }]) => kind)).toContain('Role')
})

test.each(MANIFESTS)('the manifest at %s is complete', (_, { apiVersion, kind, metadata, ...rest }) => {
  expect(metadata.name).toMatch(/^[a-z-]+$/)
  if (kind === 'ServiceAccount') return expect(apiVersion).toBe('v1')
  expect(apiVersion).toBe('rbac.authorization.k8s.io/v1')
  const { rules = [], roleRef, subjects = [] } = rest
  if (kind.endsWith('Binding')) {
    const roles = MANIFESTS.map(([, it]) => it).filter((it) => it.kind === roleRef?.kind)
    expect(roles.map((it) => it.metadata.name)).toContain(roleRef?.name)
    return expect(subjects).toEqual([{ kind: 'ServiceAccount', name: 'kubeherald', namespace: 'kubeherald' }])
  }
  expect(kind).toMatch(/^(Cluster)?Role$/)
  expect(rules.length).toBeGreaterThan(0)
  for (const rule of rules) {
    expect(rule.apiGroups.length * rule.resources.length).toBeGreaterThan(0)
    expect(['get', 'list,watch', LEASE_RIGHTS.verbs.join()]).toContain(rule.verbs.join())
  }
})

test.each(ALL_PAGES)('the links of %s lead somewhere', (page) => {
  for (const { link, target, anchor } of linksOf(page)) {
    expect(existsSync(target), `${page}: ${link}`).toBe(true)
    if (anchor !== undefined) expect(headingsOf(target), `${page}: ${link}`).toContain(anchor)
  }
})

const OPERATORS = ALL_PAGES.filter((page) => /^(docs|deploy|sinks)\/|^[A-Z]+\.md$/.test(page))

test('whoever runs it reaches every page within two clicks of the README', () => {
  const pagesBehind = (page: string) =>
    linksOf(page).map(({ target }) => target.pathname.slice(ROOT.pathname.length))
  const near = pagesBehind('README.md')
  const reached = new Set([
    'README.md',
    ...near,
    ...near.filter((it) => it.endsWith('.md')).flatMap(pagesBehind),
  ])
  const pages = new Set(
    [...reached].map((it) => (it.endsWith('.md') ? it : `${it.replace(/\/$/, '')}/README.md`)),
  )
  expect(OPERATORS.filter((page) => !pages.has(page))).toEqual([])
})

test.each(ALL_PAGES)('no row of %s stands outside its table', (page) => {
  const rows = textOf(page)
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .split('\n')
  const alone = rows.filter((row, i) => {
    const begins = row.startsWith('|') && !rows[i - 1]?.startsWith('|')
    return begins && !/^\|[ :|-]+\|$/.test(rows[i + 1] ?? '')
  })
  expect(alone).toEqual([])
})

function headingsOf(target: URL): string[] {
  const text = textOf(target.pathname.slice(ROOT.pathname.length))
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^a-z0-9 -]/g, '')
      .replaceAll(' ', '-'),
  )
}
